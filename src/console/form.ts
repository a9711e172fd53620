import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'

/** The longest form names 500 entries, and has a reason of 500 characters and a filter. */
const MAX_FORM_BYTES = 65_536

type Form =
  | { readonly fields: URLSearchParams }
  /** The status of the answer. */
  | { readonly refused: 400 | 413 | 415 }

/** The fields of a submitted form. They are read up to a limit, or taken from `body` if a body parser has read them. */
export async function readForm(request: IncomingMessage & { readonly body?: unknown }): Promise<Form> {
  const [mediaType = ''] = (request.headers['content-type'] ?? '').split(';', 1)
  if (mediaType.trim().toLowerCase() !== 'application/x-www-form-urlencoded') return { refused: 415 }
  if (request.readableEnded) {
    const fields = fieldsIn(request.body)
    return fields ? { fields } : { refused: 400 }
  }
  try {
    const body = await getRawBody(request, {
      limit: MAX_FORM_BYTES,
      length: request.headers['content-length'] ?? null,
      encoding: 'utf-8',
    })
    return { fields: new URLSearchParams(body) }
  } catch (error) {
    return { refused: (error as { status?: unknown }).status === 413 ? 413 : 400 }
  }
}

/** The fields that a body parser has left: as an object, as the bytes or as the text. */
function fieldsIn(body: unknown): URLSearchParams | undefined {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return new URLSearchParams(body.toString())
  if (typeof body !== 'object' || body === null) return undefined
  const fields = Object.entries(body).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as [string, string]] : [],
  )
  return new URLSearchParams(fields)
}
