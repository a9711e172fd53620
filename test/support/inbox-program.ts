import { buildProgram } from './built-program.js'

/** A program whose argument is the `file` of an inbox. */
export function buildInboxProgram(directory: string, statements: string): string {
  return buildProgram(
    directory,
    IMPORTS,
    `const file = process.argv[2]
    ${statements}`,
  )
}

const IMPORTS = `
  import { execFileSync } from 'node:child_process'
  import { once } from 'node:events'
  import fs from 'node:fs'
  import http from 'node:http'
  import path from 'node:path'
  import { createInterface } from 'node:readline'
  import { setImmediate as nextTick, setTimeout as delay } from 'node:timers/promises'
  import { createReceiver, createWorker } from '../../src/index.js'
  import { SqliteInbox } from './whole-inbox.js'
  import { addEventually } from './add-eventually.js'
  import { arrival } from './arrivals.js'
  import { signedCallback } from '../../src/testing/signed-callback.js'
  import { subscription } from './subscription.js'
`
