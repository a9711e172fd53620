// A real `countersign serve`, and when it lived.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../../dist/esm/cli/bin.js', import.meta.url))
const CONFIG = fileURLToPath(new URL('./striking.config.mjs', import.meta.url))

/** Resolves once it listens. */
export async function startReceiver(env) {
  const child = spawn(process.execPath, [BIN, 'serve', '--config', CONFIG], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let killedAt
  const ended = once(child, 'exit').then(([code, signal]) => {
    // Not a crash that was asked for: nothing could be said of the inbox.
    if (code !== null && code !== 0) throw new Error(`a receiver ended with exit code ${code}`)
    if (signal === 'SIGKILL') killedAt = Date.now()
  })
  const listening = new Promise((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      const { port } = JSON.parse(line)
      if (port) resolve(port)
    })
  })
  const port = await Promise.race([listening, ended])
  return {
    pid: child.pid,
    /** Undefined when it was struck before it listened. */
    port,
    ended,
    signal: (name) => child.kill(name),
    get killedAt() {
      return killedAt
    },
  }
}
