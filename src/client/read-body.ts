import { untilAborted } from '../base/abort.js'
import type { FetchResponse } from './connections.js'

export const MAX_BODY_BYTES = 1_048_576

/** The answer is larger than 1 MiB. */
export class BodyTooLarge extends Error {}

/** The body as text, limited in size, because the other end may not be the service. @throws BodyTooLarge */
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
    // Releases the connection if the body was not read to its end.
    reader.cancel().catch(() => {})
  }
}

/** Parsed JSON; the text if it is not JSON; undefined if it is empty. Content-Type is ignored. */
export function parseBody(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
