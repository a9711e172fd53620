import { CountersignError } from '../../base/errors.js'

/**
 * Refuses a query that would end the transaction of a handler, or begin another one: then the handler's writes and the end of
 * the entry would not be committed together. Savepoints are allowed.
 * @throws CountersignError ERR_TRANSACTION_CONTROL
 */
export function refuseTransactionControl(sql: string): void {
  const found = statementsOf(sql)
    .map((statement) => CONTROL.exec(statement)?.[0])
    .find((control) => control !== undefined)
  if (found !== undefined) throw transactionControlError(`the query ${found.replaceAll(/\s+/g, ' ')}`)
}

/**
 * Whether a query may change what outlasts the transaction on its connection: settings, temporary tables, LISTEN, locks of the
 * session, prepared statements, cursors. What a function of the database does is not seen.
 */
export function changesSession(sql: string): boolean {
  return statementsOf(sql).some(
    (statement) => SESSION_STATEMENT.test(statement) || SESSION_PART.test(statement),
  )
}

/** A backslash that escapes a quote can hide the end of a text from this function: the query is looked at both ways. */
function statementsOf(sql: string): string[] {
  return [TEXTS, TEXTS_WITH_BACKSLASHES].flatMap((texts) =>
    withoutTexts(sql, texts)
      .split(';')
      .map((statement) => statement.trim()),
  )
}

export function transactionControlError(what: string): CountersignError {
  const message =
    `${what} is refused within the transaction of a handler: it begins and ends with the handler. Throw an error to roll ` +
    'back, and use SAVEPOINT for a part of it.'
  return new CountersignError('ERR_TRANSACTION_CONTROL', message)
}

/** ROLLBACK TO belongs to savepoints. */
const CONTROL =
  /^(?:begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))(?![\w$])/i

const SESSION_STATEMENT =
  /^(?:set(?!\s+(?:local|transaction|constraints)\b)|reset|listen|load|discard|prepare|create\s+(?:(?:local|global)\s+)?temp(?:orary)?)\b/i
const SESSION_PART =
  /\b(?:pg_(?:try_)?advisory_lock|set_config\s*\((?![^()]*,\s*true\s*\))|into\s+temp(?:orary)?\b|pg_temp\b|with\s+hold\b)/i

const QUOTED = String.raw`"(?:[^"]|"")*"|\$(\w*)\$[^]*?\$\1\$|--[^\n]*`
const TEXTS = new RegExp(String.raw`'(?:[^']|'')*'|${QUOTED}`, 'g')
const TEXTS_WITH_BACKSLASHES = new RegExp(String.raw`'(?:[^'\\]|''|\\[^])*'|${QUOTED}`, 'g')

function withoutTexts(sql: string, texts: RegExp): string {
  return withoutBlockComments(sql.replaceAll(texts, (text) => (text.startsWith('--') ? ' ' : "''")))
}

/** They may be nested. */
function withoutBlockComments(sql: string): string {
  let result = sql
  for (;;) {
    const shorter = result.replaceAll(/\/\*(?:(?!\/\*|\*\/)[^])*\*\//g, ' ')
    if (shorter === result) return result
    result = shorter
  }
}
