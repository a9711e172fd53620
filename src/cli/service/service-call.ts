import { openClient } from '../../client/client.js'
import { ClientError, type Client, type ServiceResponse } from '../../client/index.js'
import { maskedValue, textMask } from '../../base/mask-texts.js'
import { EXIT, printJson, type ExitCode, type Io } from '../io.js'
import { printable } from '../../base/printable.js'
import { redactor } from '../redact.js'
import type { ServiceAccount } from './service-options.js'

/** The service's answer, without secrets and tokens. */
export interface Answer {
  readonly status: number
  readonly ok: boolean
  readonly body: unknown
  /** The body as one line for a terminal, of limited length. */
  readonly text: string
  /** Only for a creation. */
  readonly mayBeCreated?: boolean | undefined
}

/** Why there is no answer, or no usable one. */
export interface Failure {
  readonly code: string
  readonly message: string
  /** The status of the answer to the token request, if that was the reason. */
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
  /** Only for a creation. */
  readonly mayBeCreated?: boolean | undefined
}

/** How much of a body is shown on a terminal, in characters. */
const SHOWN_CHARACTERS = 4_000

/**
 * Makes one call with a client of its own. An answer of any status is an answer. It is a failure if the service
 * cannot be reached or refuses the credentials. Neither contains the secrets, the client secret or a received
 * token.
 */
export async function callService<Response extends ServiceResponse>(
  account: ServiceAccount,
  secrets: readonly string[],
  call: (client: Client) => Promise<Response>,
): Promise<Answer | Failure> {
  const { client, hidden } = openClient(account)
  const mask = () => outputMask([...secrets, ...hidden()])
  try {
    return safeAnswer(await call(client), mask())
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    return safeFailure(error, mask())
  } finally {
    await client.close()
  }
}

/** Masks these texts in every encoding, and credentials after the name of their scheme. */
export function outputMask(secrets: readonly string[]): (text: string) => string {
  const mask = textMask(secrets, '[hidden]')
  const redact = redactor([])
  return (text) => redact(mask(text))
}

export function isFailure(result: Answer | Failure): result is Failure {
  return 'code' in result
}

export function safeFailure(
  { code, message, status, retryAfterMs, mayBeCreated }: ClientError,
  mask: (text: string) => string,
): Failure {
  return { code, message: bounded(printable(mask(message))), status, retryAfterMs, mayBeCreated }
}

/** `status: body`, or the failure, for a terminal. */
export function readableResult(result: Answer | Failure): string {
  if (isFailure(result)) return result.message
  return `the service answered ${result.status}${result.text === '' ? '' : `: ${result.text}`}`
}

/** Prints the result of a call that needs no further output. */
export function printResult(result: Answer | Failure, { json }: { json?: true }, io: Io): ExitCode {
  const done = !isFailure(result) && result.ok
  if (json) printJson(io, jsonResult(result))
  else if (done) io.stdout.write(`${readableResult(result)}\n`)
  else io.stderr.write(`countersign: ${readableResult(result)}\n`)
  return done ? EXIT.done : EXIT.failed
}

export function jsonResult(result: Answer | Failure): object {
  if (isFailure(result)) {
    const { code, message, retryAfterMs } = result
    return { code, message, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  }
  const { status, body } = result
  return { status, body: body ?? null }
}

function safeAnswer(response: ServiceResponse, mask: (text: string) => string): Answer {
  const { status, ok, mayBeCreated } = response as ServiceResponse & { readonly mayBeCreated?: boolean }
  const body = isShallow(response.body)
    ? maskedValue(response.body, mask)
    : '(a body that is nested too deeply to be shown)'
  const text = typeof body === 'string' ? body : (JSON.stringify(body) ?? '')
  return { status, ok, body, text: bounded(printable(text)), mayBeCreated }
}

// Each level is indented, so the output grows with the square of the depth; and the stack is limited.
function isShallow(value: unknown, levels = 100): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1))
}

function bounded(text: string): string {
  if (text.length <= SHOWN_CHARACTERS) return text
  return `${text.slice(0, SHOWN_CHARACTERS)} ... (${text.length - SHOWN_CHARACTERS} more characters)`
}
