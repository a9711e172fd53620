import { readFile, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { CountersignError, recognise } from '../base/errors.js'
import { invalidOption, kindOf } from '../base/option-checks.js'
import { parseHttpDate } from '../signature/timestamp.js'
import { checkBytes, checkPath, checkRecorded } from './argument-checks.js'
import { headerValues, MalformedMessage, readBody, readHead } from './http-message.js'
import {
  parseDescription,
  type RecordedDescription,
  type RecordedSubscription,
} from './recorded-description.js'
import { sendRawRequest, type RawRequestOptions, type RawResponse, type RawTarget } from './raw-request.js'

/** A recorded request: `NAME.http` has its bytes, `NAME.json` its description. */
export interface RecordedRequest extends RecordedDescription {
  /** The file name without its ending. */
  readonly name: string
  /** The whole request, byte for byte. */
  readonly bytes: Buffer
  /** The time in its Authorization-Timestamp, for the clock of the receiver that it is replayed to. */
  readonly signedAt: Date | undefined
}

/** A parsed recorded request, with the field names of Node's `IncomingMessage`. */
export interface ParsedRequest {
  readonly method: string
  readonly target: string
  readonly httpVersion: string
  /** Name, value, name, value; values are decoded as Latin-1. */
  readonly rawHeaders: string[]
  /** The signed bytes: the body without chunk framing. */
  readonly body: Buffer
}

/**
 * A file is missing or cannot be read, its description has a wrong field, or the bytes are not one HTTP/1.1 request.
 */
export class RecordedRequestError extends CountersignError<'ERR_RECORDED_REQUEST_INVALID'> {
  static {
    recognise(this, 'RecordedRequestError')
  }

  constructor(message: string) {
    super('ERR_RECORDED_REQUEST_INVALID', message)
    this.name = 'RecordedRequestError'
  }
}

/**
 * The recorded requests of a folder, sorted by name. Other files are ignored. The bytes are not parsed, because a
 * request that is not HTTP may be recorded as well.
 *
 * @throws RecordedRequestError ERR_RECORDED_REQUEST_INVALID, which names the file, the field and the remedy.
 */
export async function loadRecordedRequests(folder: string): Promise<RecordedRequest[]> {
  checkPath('loadRecordedRequests', 'folder', folder, 'pass the path of a folder')
  const files = new Set(await readdir(folder))
  const names = new Set([...files].map((file) => /^(.+)\.(?:http|json)$/.exec(file)?.[1] ?? ''))
  names.delete('')
  // A test with an empty folder would pass without testing anything.
  if (names.size === 0) throw invalid(folder, 'holds no NAME.http. Is it the right folder?')

  const recorded: RecordedRequest[] = []
  for (const name of [...names].sort()) {
    const [http, json] = [join(folder, `${name}.http`), join(folder, `${name}.json`)]
    if (!files.has(`${name}.json`))
      throw invalid(http, `has no ${name}.json beside it, to say what must become of it.`)
    if (!files.has(`${name}.http`))
      throw invalid(json, `has no ${name}.http beside it, the bytes that it describes.`)
    recorded.push(await readRecording(http, json))
  }
  return recorded
}

/**
 * One recorded request, by the path of its `NAME.http`.
 *
 * @throws RecordedRequestError ERR_RECORDED_REQUEST_INVALID, which names the file and the remedy.
 */
export async function loadRecordedRequest(file: string): Promise<RecordedRequest> {
  checkPath('loadRecordedRequest', 'file', file, 'pass the path of NAME.http')
  const json = file.replace(/\.http$/, '.json')
  if (json === file) throw invalid(file, 'does not end in .http, as the bytes of a recorded request do.')
  return readRecording(file, json)
}

/**
 * Sends a recorded request to a server, byte for byte.
 *
 * @example
 * const recorded = await loadRecordedRequests('recorded')
 * for (const request of recorded) {
 *   const { status } = await replayRecordedRequest(request, { port })
 *   assert.equal(status, request.expect.status, request.name)
 * }
 */
export async function replayRecordedRequest(
  recorded: Pick<RecordedRequest, 'bytes'>,
  target: RawTarget,
  options?: RawRequestOptions,
): Promise<RawResponse> {
  checkRecorded('replayRecordedRequest', recorded, 'bytes')
  return sendRawRequest(recorded.bytes, target, options)
}

/** The distinct subscriptions of a folder, to configure one receiver for all of them. */
export function recordedSubscriptions(
  recorded: readonly Pick<RecordedRequest, 'subscription'>[],
): RecordedSubscription[] {
  const distinct = new Map<string, RecordedSubscription>()
  const owner = 'recordedSubscriptions'
  if (!Array.isArray(recorded))
    throw invalidOption(owner, 'recorded', recorded, 'pass a list of recorded requests', kindOf(recorded))
  for (const each of recorded as readonly Pick<RecordedRequest, 'subscription'>[]) {
    checkRecorded(owner, each, 'subscription')
    const { subscription } = each
    const { eventTypeName, callbackUrl, secret } = subscription
    const key = JSON.stringify([eventTypeName, callbackUrl, secret])
    if (distinct.has(key)) continue
    const isShared = [...distinct.values()].some(
      (each) => each.eventTypeName === eventTypeName && each.callbackUrl === callbackUrl,
    )
    // A receiver refuses two subscriptions with the same event type and URL, unless they have different ids.
    distinct.set(key, isShared ? { ...subscription, id: `recorded ${distinct.size + 1}` } : subscription)
  }
  return [...distinct.values()]
}

/** Undefined without an HTTP date in Authorization-Timestamp. */
export function signedAtOf(bytes: Buffer): Date | undefined {
  let timestamp: string | undefined
  try {
    timestamp = headerValues(readHead(bytes)?.rawHeaders ?? [], 'authorization-timestamp')[0]
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error
  }
  const signedAtMs = timestamp === undefined ? undefined : parseHttpDate(timestamp)
  return signedAtMs === undefined ? undefined : new Date(signedAtMs)
}

/**
 * Parses a recorded request without a server, as strictly as Node's own parser. An ambiguous request is refused.
 *
 * @throws RecordedRequestError ERR_RECORDED_REQUEST_INVALID. The message contains no part of the request.
 */
export function parseRecordedRequest(bytes: Uint8Array): ParsedRequest {
  checkBytes('parseRecordedRequest', bytes)
  try {
    return parseRequest(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error
    throw new RecordedRequestError(`Not an HTTP/1.1 request: ${error.message}.`)
  }
}

async function readRecording(http: string, json: string): Promise<RecordedRequest> {
  const [bytes, description] = [await bytesOf(http), (await bytesOf(json)).toString('utf8')]
  return {
    name: basename(http, '.http'),
    bytes,
    signedAt: signedAtOf(bytes),
    ...parseDescription(description, (problem) => invalid(json, problem)),
  }
}

/** @throws RecordedRequestError ERR_RECORDED_REQUEST_INVALID */
async function bytesOf(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const problem =
      code === 'ENOENT'
        ? 'does not exist. A recorded request is NAME.http and NAME.json.'
        : `cannot be read (${code}): it must be a file that this user can read.`
    throw invalid(file, problem)
  }
}

function parseRequest(bytes: Buffer): ParsedRequest {
  const head = readHead(bytes)
  if (!head) {
    throw new MalformedMessage(
      bytes.includes('\n\n')
        ? 'its header lines end in LF instead of CRLF. Were line ends converted? "-text" in .gitattributes prevents that'
        : 'the empty line that ends its headers is missing',
    )
  }
  const requestLine = /^([!#$%&'*+.^_`|~\w-]+) ([\x21-\x7e]+) HTTP\/(1\.[01])$/.exec(head.startLine)
  if (!requestLine) throw new MalformedMessage('it does not begin with a request line')
  const [, method = '', target = '', httpVersion = ''] = requestLine

  const read = readBody(bytes, head, head.end)
  if (!read) throw new MalformedMessage('its body is shorter than announced')
  if (read.end < bytes.length) {
    throw new MalformedMessage(
      `${bytes.length - read.end} bytes follow its end. Did an editor add a line end?`,
    )
  }
  return { method, target, httpVersion, rawHeaders: head.rawHeaders, body: read.body }
}

function invalid(file: string, problem: string): RecordedRequestError {
  return new RecordedRequestError(`${file} ${problem}`)
}
