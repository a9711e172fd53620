import { invalidOption, kindOf, wrongOption } from '../base/option-checks.js'

interface BodyOptions {
  readonly body?: Uint8Array | string | undefined
  readonly payload?: unknown
}

/**
 * The body of a callback: the given one, or the JSON of the payload. By default the payload has an Id and no other field, because
 * the service documents no other (SERVICE 2.5).
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function callbackBody(owner: string, { body, payload }: BodyOptions, createId: () => string) {
  if (body !== undefined && payload !== undefined)
    throw wrongOption(owner, 'payload', 'payload and body are both given: pass either payload or body.')
  if (typeof body === 'string' || ArrayBuffer.isView(body)) return Buffer.from(body as string)
  if (body !== undefined) throw invalidOption(owner, 'body', body, 'pass a text or bytes', kindOf(body))
  const json = jsonOf(payload === undefined ? { Id: createId() } : payload)
  if (json !== undefined) return Buffer.from(json)
  const problem = `payload of type ${typeof payload} has no JSON form: pass a value that JSON.stringify takes.`
  throw wrongOption(owner, 'payload', problem)
}

/** Undefined for a value without a JSON form, such as a function, a BigInt or an object that contains itself. */
function jsonOf(payload: unknown): string | undefined {
  try {
    return JSON.stringify(payload)
  } catch {
    return undefined
  }
}
