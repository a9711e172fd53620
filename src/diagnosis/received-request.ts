import { headerLines } from '../http/callback-headers.js'

/** A request as it arrived. Nothing in it has been verified. */
export interface ReceivedRequest {
  /** The request target: path and query as they arrived. */
  readonly path: string
  /** Name, value, name, value, as Node's `rawHeaders`. It shows repeated headers, so it has precedence over `headers`. */
  readonly rawHeaders?: readonly string[] | undefined
  /** By name, for environments without a raw list. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined
  /** The bytes of the body as they arrived, without chunk framing. */
  readonly body: Uint8Array
  /** `false` if the request was refused by its headers, so that its body is not known. @default true */
  readonly bodyRead?: boolean | undefined
  /** When it arrived. Without it, the clocks are not compared. */
  readonly receivedAt?: Date | undefined
}

export interface HeaderLine {
  /** In lower case. */
  readonly name: string
  readonly value: string
}

/** More lines and longer values than the service and any proxy send are not looked at: the request is unauthenticated. */
const MAX_LINES = 200
const MAX_VALUE_LENGTH = 2_048

export function linesOf(request: Pick<ReceivedRequest, 'rawHeaders' | 'headers'>): HeaderLine[] {
  const raw = headerLines(request)
  const lines: HeaderLine[] = []
  for (let index = 0; index + 1 < raw.length && lines.length < MAX_LINES; index += 2) {
    const value = raw[index + 1]!
    if (value.length <= MAX_VALUE_LENGTH) lines.push({ name: raw[index]!.toLowerCase(), value: value.trim() })
  }
  return lines
}

export function valuesOf(lines: readonly HeaderLine[], name: string): string[] {
  return lines.filter((line) => line.name === name).map(({ value }) => value)
}
