import { buildProgram } from './built-program.js'

/** A program whose argument is the connection string of a database, in which it has an `inbox`. */
export function buildPostgresProgram(directory: string, statements: string): string {
  return buildProgram(
    directory,
    IMPORTS,
    `const inbox = new PostgresInbox({ connectionString: process.argv[2], logger: false })
    ${statements}`,
  )
}

const IMPORTS = `
  import http from 'node:http'
  import { createInterface } from 'node:readline'
  import { createReceiver } from '../../src/index.js'
  import { PostgresInbox } from './whole-inbox.js'
  import { subscription } from './subscription.js'
`
