import { untilAborted } from './abort.js'
import type { FetchResponse } from './connections.js'

export const MAX_BODY_BYTES = 1_048_576

/** The answer is larger than 1 MiB. */
export class BodyTooLarge extends Error {}

/** The body as text, with a bound: what is at the other end may be somebody else, or broken. @throws BodyTooLarge */
export async function readBody({ body }: FetchResponse, signal: AbortSignal): Promise<string> {
  if (!body) return ''
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for (;;) {
      const { done, value } = await untilAborted(reader.read(), signal)
      if (done) return new TextDecoder().decode(Buffer.concat(chunks))
      if (!value) continue
      length += value.length
      if (length > MAX_BODY_BYTES) throw new BodyTooLarge()
      chunks.push(value)
    }
  } finally {
    // Lets go of the connection where the end was not waited for.
    reader.cancel().catch(() => {})
  }
}

/** Parsed JSON; the text where it is none; undefined where there is none. Content-Type is not looked at. */
export function parseBody(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
