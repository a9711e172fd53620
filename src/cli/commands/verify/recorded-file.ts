import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { property, textProperty } from '../../../base/foreign-value.js'
import { OUTCOMES, type OutcomeCode } from '../../../callback/outcomes.js'
import { captureName } from '../../../capture/kept-requests.js'
import type { ReceivedRequest } from '../../../diagnosis/index.js'
import { MalformedMessage, readBody, readHead, type MessageHead } from '../../../testing/http-message.js'
import { readStdin } from '../../body-option.js'
import { namesIn, readBounded, unreadable } from '../../bounded-read.js'
import { UsageError, type Io } from '../../io.js'

/** Servers accept headers of some KiB. */
const MAX_HEAD_BYTES = 1_048_576

/** A request to be verified. */
export interface RecordedFile {
  readonly name: string
  /** Of NAME.http, beside which there may be a NAME.json; undefined for the standard input. */
  readonly path: string | undefined
  readonly request: ReceivedRequest
  /** Why a receiver refused the request, as its capture says. */
  readonly refusedFor: OutcomeCode | undefined
}

/** The requests of files, folders of NAME.http files, or `-` for the standard input. @throws UsageError */
export async function readRecordedFiles(
  names: readonly string[],
  io: Io,
  receivedAt: Date | 'mtime' | undefined,
): Promise<RecordedFile[]> {
  const files: RecordedFile[] = []
  for (const name of names) {
    if (name === '-') {
      const at = receivedAt === 'mtime' ? undefined : receivedAt
      files.push({
        name: 'standard input',
        path: undefined,
        request: parse('standard input', await readStdin(io), at),
        refusedFor: undefined,
      })
      continue
    }
    files.push(...(await readPath(resolve(io.cwd(), name), receivedAt)))
  }
  return files
}

async function readPath(path: string, receivedAt: Date | 'mtime' | undefined): Promise<RecordedFile[]> {
  const names = await namesIn(path)
  if (!names) return [await readRecordedFile(path, receivedAt)]
  const files: RecordedFile[] = []
  for (const name of names.filter((each) => each.endsWith('.http')).sort()) {
    try {
      files.push(await readRecordedFile(join(path, name), receivedAt))
    } catch (error) {
      // A receiver may have removed the file from its folder of captures in the meantime, to make room.
      const isMissing = textProperty(property(error, 'cause'), 'code') === 'ENOENT'
      if (!isMissing && !isBeingWritten(path, name)) throw error
    }
  }
  if (files.length > 0) return files
  throw new UsageError(`${path} holds no NAME.http: name a folder of recorded requests`)
}

/** Whether it is a capture without its description, which a receiver writes last. */
function isBeingWritten(folder: string, name: string): boolean {
  const captured = captureName(name)
  return captured !== undefined && !existsSync(join(folder, `${captured}.json`))
}

async function readRecordedFile(path: string, receivedAt: Date | 'mtime' | undefined): Promise<RecordedFile> {
  const { bodyRead, refusedFor, ...captured } = await captureOf(path)
  try {
    const at = receivedAt === 'mtime' ? (await stat(path)).mtime : (receivedAt ?? captured.receivedAt)
    const request = { ...parse(path, await readBounded(path), at), bodyRead }
    return { name: basename(path), path, request, refusedFor }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw unreadable(path, error)
  }
}

interface Captured {
  readonly receivedAt: Date | undefined
  /** False if the receiver refused the request by its headers. */
  readonly bodyRead: boolean
  readonly refusedFor: OutcomeCode | undefined
}

/** What a receiver with the option `capture` has written beside the bytes. */
async function captureOf(path: string): Promise<Captured> {
  let description: { receivedAt?: unknown; bodyRead?: unknown; code?: unknown } | null = null
  if (path.endsWith('.http')) {
    try {
      description = JSON.parse(await readFile(path.replace(/\.http$/, '.json'), 'utf8'))
    } catch {
      // Without a description it is the file of another tool.
    }
  }
  const receivedAt = new Date(String(description?.receivedAt))
  const code = String(description?.code)
  return {
    receivedAt: Number.isNaN(receivedAt.getTime()) ? undefined : receivedAt,
    bodyRead: description?.bodyRead !== false,
    refusedFor: isOutcomeCode(code) && code.startsWith('ERR_') ? code : undefined,
  }
}

function isOutcomeCode(code: string): code is OutcomeCode {
  return Object.hasOwn(OUTCOMES, code)
}

/**
 * Not `parseRecordedRequest`, which refuses a request whose body is shorter or longer than announced: that may be the cause.
 * @throws UsageError
 */
function parse(name: string, bytes: Buffer, receivedAt: Date | undefined): ReceivedRequest {
  let head: MessageHead | undefined
  try {
    head = readHead(bytes.subarray(0, MAX_HEAD_BYTES))
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error
    throw new UsageError(`${name} is not an HTTP/1.1 request: ${error.message}`)
  }
  const path = /^[!#$%&'*+.^_`|~\w-]+ (\S+) HTTP\/1\.[01]$/.exec(head?.startLine ?? '')?.[1]
  if (!head || path === undefined) {
    const cure = bytes.includes('\n\n')
      ? 'its lines end in LF in place of CR LF'
      : 'it has no request line, or no empty line after its headers within the first MiB'
    throw new UsageError(`${name} is not an HTTP/1.1 request: ${cure}`)
  }
  return { path, rawHeaders: head.rawHeaders, body: bodyOf(bytes, head), receivedAt }
}

function bodyOf(bytes: Buffer, head: MessageHead): Buffer {
  const rest = bytes.subarray(head.end)
  try {
    const read = readBody(bytes, head, head.end)
    // Bytes after the end are part of the body if its length is given by Content-Length: something appended them.
    const isWhole =
      read?.end === bytes.length || head.rawHeaders.some((each) => /^transfer-encoding$/i.test(each))
    return read && isWhole ? read.body : rest
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error
    return rest
  }
}
