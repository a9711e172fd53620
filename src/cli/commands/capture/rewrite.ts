import { resolve } from 'node:path'
import { CountersignError } from '../../../base/errors.js'
import { withTimeout } from '../../../base/timeout.js'
import { importModule } from '../../config/config-file.js'
import { UsageError, type Io } from '../../io.js'

export interface RewriteContext {
  readonly eventType: string
}

/** A function of the user that returns what is put in place of a payload. */
type Rewrite = (payload: unknown, context: RewriteContext) => unknown

/** How long one call may take, in milliseconds. Without this timer, a promise that never settles ends Node without a message. */
const TIMEOUT_MS = 60_000

/** @throws CountersignError if the module cannot be loaded, or has no function */
export async function loadRewrite(path: string, io: Io): Promise<Rewrite> {
  const { default: rewrite } = await importModule(`--rewrite: module ${path}`, resolve(io.cwd(), path))
  if (typeof rewrite === 'function') return rewrite as Rewrite
  throw new CountersignError('ERR_CONFIG_INVALID', `--rewrite: ${path} has to export a function as default.`)
}

/** The JSON object of another payload; undefined if the function returns nothing. @throws UsageError that names the request */
export async function rewritten(
  rewrite: Rewrite,
  name: string,
  [payload, context]: Parameters<Rewrite>,
  timeoutMs = TIMEOUT_MS,
): Promise<string | undefined> {
  let value: unknown
  try {
    value = await withTimeout(
      Promise.resolve().then(() => rewrite(payload, context)),
      timeoutMs,
      'the function',
      { keepsAlive: true },
    )
  } catch (error) {
    throw new UsageError(`--rewrite: the function failed for ${name}: ${messageOf(error)}`)
  }
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch (error) {
    throw new UsageError(`--rewrite: what the function returned for ${name} is not JSON: ${messageOf(error)}`)
  }
  if (json === undefined || json.startsWith('{')) return json
  throw new UsageError(
    `--rewrite: what the function returned for ${name} is not a JSON object: return one, or undefined to skip the request`,
  )
}

function messageOf(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  return line
}
