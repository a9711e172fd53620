// A real receiver (`countersign serve`) or worker process, and when it lived.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))
const PROGRAMS = {
  receiver: [path('../../dist/cli/bin.js'), 'serve', '--config', path('./receiver.config.mjs')],
  worker: [path('./worker-program.mjs')],
}

/** Resolves once it runs, or was killed. `given` is what striking.mjs reads. */
export async function startProcess(role, given) {
  const child = spawn(process.execPath, PROGRAMS[role], {
    env: { ...process.env, CRASH_TEST: JSON.stringify(given) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Nothing outlives a run that failed.
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  let killedAt
  const ended = once(child, 'exit').then(([code, signal]) => {
    process.off('exit', kill)
    // Not a crash that was asked for: it would say nothing about the inbox.
    if (code !== null && code !== 0) throw new Error(`a ${role} ended with exit code ${code}`)
    if (signal === 'SIGKILL') killedAt ??= Date.now()
  })
  const running = new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { port, started } = JSON.parse(line)
      if (port || started) resolve(port)
    })
  })
  const port = await Promise.race([running, ended])
  return {
    role,
    pid: child.pid,
    /** Of a receiver. Undefined when it was killed before it listened. */
    port,
    ended,
    signal(name) {
      // Its end is noticed later, much later on a busy machine.
      if (name === 'SIGKILL') killedAt ??= Date.now()
      child.kill(name)
    },
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
    get killedAt() {
      return killedAt
    },
  }
}
