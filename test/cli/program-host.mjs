// Runs one command line after the other in one process: what a start of Node and the loading of modules cost is paid once.
import { Readable } from 'node:stream'
import { main } from '../../dist/esm/cli/main.js'

process.on('message', async ({ args, cwd, env, input }) => {
  const output = { stdout: '', stderr: '' }
  const restore = Object.keys(output).map((name) => {
    const { write } = process[name]
    // What a configuration prints is captured, too.
    process[name].write = (text, ...rest) => {
      output[name] += text
      rest.at(-1)?.()
      return true
    }
    return () => (process[name].write = write)
  })
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  const stdin = Readable.from([Buffer.from(input)], { objectMode: false })
  const { stdout, stderr } = process
  const code = await main(args, { stdin, stdout, stderr, env: process.env, cwd: () => process.cwd() })
  for (const undo of restore) undo()
  process.send({ code, ...output })
})
