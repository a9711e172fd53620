import { CountersignError } from '../../base/errors.js'

/**
 * Refuses a query that would end the transaction of a handler, or begin another one: then the handler's writes and the end of
 * the entry would not be committed together. Savepoints are allowed.
 * @throws CountersignError ERR_TRANSACTION_CONTROL
 */
export function refuseTransactionControl(sql: string): void {
  // A backslash that escapes a quote can hide the end of a text from this function: such a query is looked at both ways.
  for (const texts of [TEXTS, TEXTS_WITH_BACKSLASHES]) {
    const found = withoutTexts(sql, texts)
      .split(';')
      .map((statement) => CONTROL.exec(statement.trim())?.[0])
      .find((control) => control !== undefined)
    if (found !== undefined) throw transactionControlError(`the query ${found.replaceAll(/\s+/g, ' ')}`)
  }
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
