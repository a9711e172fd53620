import { ClientError, createClient, type Client, type ServiceResponse } from '../../client/index.js'
import { EXIT, printJson, type ExitCode, type Io } from '../io.js'
import { printable } from '../readable-log.js'
import { redactor } from '../redact.js'
import type { ServiceAccount } from './service-options.js'

/** What the service answered, without what may not be seen. */
export interface Answer {
  readonly status: number
  readonly ok: boolean
  readonly body: unknown
  /** The body as one line for a terminal, of bounded length. */
  readonly text: string
}

/** Why there is no answer, or none that can be used. */
export interface Failure {
  readonly code: string
  readonly message: string
  /** Whether the call itself was sent, and not only the request for a token. */
  readonly sent: boolean
}

/** How much of a body is shown on a terminal, in characters. */
const SHOWN_CHARACTERS = 4_000

/**
 * Makes one call with a client of its own. An answer of any status is an answer; that the service cannot be reached, or
 * refuses the credentials, is a failure. Neither holds the secrets, the client's included, nor the access token.
 */
export async function callService(
  account: ServiceAccount,
  secrets: readonly string[],
  call: (client: Client) => Promise<ServiceResponse>,
): Promise<Answer | Failure> {
  const client = createClient(account)
  const hidden = [...secrets, ...clientSecretSpellings(account)]
  let sent = false
  try {
    hidden.push(await client.accessToken())
    sent = true
    const response = await call(client)
    // It may have been renewed for the call.
    await client.accessToken().then(
      (token) => hidden.push(token),
      () => {},
    )
    return safeAnswer(response, redactor(hidden))
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    return { ...safeFailure(error, redactor(hidden)), sent }
  } finally {
    await client.close()
  }
}

/** Its letters may be not case-sensitive (SERVICE 2.2): the service may repeat it in another spelling that is as good. */
export function clientSecretSpellings({ clientSecret }: ServiceAccount): string[] {
  return [clientSecret, clientSecret.toLowerCase(), clientSecret.toUpperCase()]
}

export function isFailure(result: Answer | Failure): result is Failure {
  return 'code' in result
}

export function safeFailure(
  { code, message }: ClientError,
  redact: (text: string) => string,
): Omit<Failure, 'sent'> {
  return { code, message: bounded(printable(redact(message))) }
}

/** `status: body`, or what went wrong, for a terminal. */
export function readableResult(result: Answer | Failure): string {
  if (isFailure(result)) return result.message
  return `the service answered ${result.status}${result.text === '' ? '' : `: ${result.text}`}`
}

/** Prints a call that has nothing more to say. */
export function printResult(result: Answer | Failure, { json }: { json?: true }, io: Io): ExitCode {
  const done = !isFailure(result) && result.ok
  if (json) printJson(io, jsonResult(result))
  else if (done) io.stdout.write(`${readableResult(result)}\n`)
  else io.stderr.write(`countersign: ${readableResult(result)}\n`)
  return done ? EXIT.done : EXIT.failed
}

export function jsonResult(result: Answer | Failure): object {
  if (isFailure(result)) return { code: result.code, message: result.message }
  const { status, body } = result
  return { status, body: body ?? null }
}

function safeAnswer({ status, ok, body }: ServiceResponse, redact: (text: string) => string): Answer {
  const json = isShallow(body)
    ? (JSON.stringify(body) ?? '')
    : '(a body that is nested too deeply to be shown)'
  const text = redact(typeof body === 'string' ? body : json)
  return { status, ok, body: typeof body === 'string' ? text : parsed(text), text: bounded(printable(text)) }
}

// Each level is indented, so what is printed grows with the square of them; and there is an end to the stack.
function isShallow(value: unknown, levels = 100): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1))
}

function parsed(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function bounded(text: string): string {
  if (text.length <= SHOWN_CHARACTERS) return text
  return `${text.slice(0, SHOWN_CHARACTERS)} ... (${text.length - SHOWN_CHARACTERS} more characters)`
}
