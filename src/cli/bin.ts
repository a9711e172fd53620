#!/usr/bin/env node
import { complain, EXIT } from './io.js'
import { main } from './main.js'

// A configuration that waits for a promise that never settles leaves the event loop empty. Node would exit with 13 and no message.
process.once('beforeExit', () => {
  complain(process, 'the configuration or the handlers wait for a promise that never settles')
  process.exit(EXIT.usage)
})

// A command that has begun to act finishes when nobody reads what it prints (EPIPE).
let lost: NodeJS.ErrnoException | undefined
process.stdout.on('error', (error) => (lost ??= error))
process.stderr.on('error', () => {})

void main(process.argv.slice(2), process).then((exitCode) => {
  // Not process.exitCode: a handlers module may have open connections, which would keep the process alive. Not before
  // the output is written, or its reader has closed the pipe.
  process.stdout.write('', (error) => {
    lost ??= error ?? undefined
    if (!lost || lost.code === 'EPIPE') process.exit(exitCode)
    // A script must not take a list that was cut off for a complete one.
    complain(process, `the output could not be written: ${lost.message}`)
    process.exit(exitCode === EXIT.done ? EXIT.failed : exitCode)
  })
})
