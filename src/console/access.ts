import type { IncomingMessage } from 'node:http'
import type { Answer } from './answer.js'
import { cookieHeader, secretInCookie } from './cookies.js'
import type { ConsoleRequest } from './console-request.js'
import { randomSecret } from './form-token.js'
import { isOperator, type Operator } from './operator.js'

/** The operator who sends a request, or the answer to a request that no operator sends. */
type Admission =
  | {
      readonly operator: Operator
      /** A secret that only this browser knows. `formToken` uses it. */
      readonly browserSecret: string
      /** Response headers that store the secret in the browser, or that renew it. */
      readonly headers?: Readonly<Record<string, string>>
      /** Whether there is a session that the operator can end. */
      readonly canSignOut: boolean
    }
  | { readonly answer: Answer }
  /** The function `operator` of the application threw this error, or this error says what it returned in place of an operator. */
  | { readonly failed: unknown }
  /** The application does not permit the request. */
  | 'refused'

/** Finds out who sends a request to a console. */
export type Access = (request: IncomingMessage, parsed: ConsoleRequest) => Promise<Admission>

const COOKIE = 'countersign-form'

/** The application in which the console is mounted knows who sends a request. */
export function applicationAccess(operatorOf: (request: IncomingMessage) => unknown): Access {
  return async (request, { method }) => {
    let operator: unknown
    try {
      operator = await operatorOf(request)
    } catch (error) {
      return { failed: error }
    }
    if (operator === undefined || operator === null) return 'refused'
    if (!isOperator(operator)) return { failed: new TypeError(NO_OPERATOR) }
    const known = secretInCookie(request, COOKIE)
    if (known !== undefined) return { operator, browserSecret: known, canSignOut: false }
    const browserSecret = randomSecret()
    // Browsers send no cookie with a form of another site. The answer must not replace the cookie, to which the forms of open pages belong.
    if (method === 'POST') return { operator, browserSecret, canSignOut: false }
    const headers = { 'Set-Cookie': cookieHeader(request, COOKIE, browserSecret) }
    return { operator, browserSecret, headers, canSignOut: false }
  }
}

const NO_OPERATOR =
  'createConsole: operator returned no operator: return { name, role }, with a name of 1 to 100 characters and the role "view" or "decide"; or undefined'
