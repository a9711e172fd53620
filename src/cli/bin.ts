#!/usr/bin/env node
import { complain, EXIT } from './io.js'
import { main } from './main.js'

// A configuration that waits for a promise that never settles leaves the event loop empty. Node would exit with 13 and no message.
process.once('beforeExit', () => {
  complain(process, 'the configuration or the handlers wait for a promise that never settles')
  process.exit(EXIT.usage)
})

const exitCode = await main(process.argv.slice(2), process)
// Not process.exitCode: a handlers module may have open connections, which would keep the process alive. Not before
// the output is written, or its reader has closed the pipe.
process.stdout.write('', () => process.exit(exitCode))
