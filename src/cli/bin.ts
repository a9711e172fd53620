#!/usr/bin/env node
import { main } from './main.js'

const exitCode = await main(process.argv.slice(2), process)
// Not process.exitCode: a handlers module may hold connections open, which would keep the process alive. Nor before the
// output is written, or its reader is found to be gone.
process.stdout.write('', () => process.exit(exitCode))
