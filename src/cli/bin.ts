#!/usr/bin/env node
import { main } from './main.js'

const exitCode = await main(process.argv.slice(2), process)
// Not process.exitCode: a handlers module may have open connections, which would keep the process alive. Not before
// the output is written, or the reader is known to be gone.
process.stdout.write('', () => process.exit(exitCode))
