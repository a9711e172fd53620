// Runs one command line after the other in one process: what a start of Node and the loading of modules cost is paid once.
// The argument is the path of the socket on which they arrive, one in a line, as JSON in Base64.
import { fstatSync, readSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import timers from 'node:timers/promises'
import { main } from '../../dist/cli/main.js'

// Each run of `serve` or `work` that fails leaves a listener for the end of the process.
process.setMaxListeners(0)

// A client pauses before it repeats a request. How long is proven where the client is tested. The pauses of the simulator
// are what it simulates.
let pausesAreShort = true
const { setTimeout: pause } = timers
timers.setTimeout = (ms, ...rest) => pause(pausesAreShort ? Math.min(ms, 5) : ms, ...rest)
syncBuiltinESMExports()

// A configuration may replace methods of the console, as one of the tests has it do.
const consoleMethods = { ...console }

const path = process.argv[2]
// The process before this one, if there was one, did not remove it.
rmSync(path, { force: true })
const server = createServer((socket) => {
  socket.on('error', () => {})
  socket.write(`${process.pid}\n`)
  createInterface(socket).on('line', async (line) => {
    const ran = await run(JSON.parse(Buffer.from(line, 'base64').toString()))
    socket.write(`${Buffer.from(JSON.stringify(ran)).toString('base64')}\n`)
  })
})
server.listen(path, () => process.send('listening'))
process.once('disconnect', () => process.exit())

async function run({ args, cwd, env, input }) {
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
  pausesAreShort = args[0] !== 'simulate'
  Object.assign(console, consoleMethods)
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  const stdin = Readable.from([Buffer.from(input)], { objectMode: false })
  const { stdout, stderr } = process
  const logStart = fstatSync(stdout.fd).size
  const code = await main(args, { stdin, stdout, stderr, env: process.env, cwd: () => process.cwd() })
  for (const undo of restore) undo()
  output.stdout += logSince(logStart)
  return { code, ...output }
}

/** The log of the program writes to the file descriptor of standard output, which is a file here. */
function logSince(start) {
  const bytes = Buffer.alloc(fstatSync(process.stdout.fd).size - start)
  readSync(process.stdout.fd, bytes, 0, bytes.length, start)
  return bytes.toString()
}
