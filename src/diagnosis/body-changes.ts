import { isUtf8 } from 'node:buffer'
import { compressionHypotheses } from './compressed-bodies.js'
import type { Alternative, Hypothesis } from './change.js'
import { JSON_SPELLINGS, jsonTokens, layoutsFor, writeJson, type JsonTokens } from './json-layouts.js'

const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/** The mistakes that give other bytes. Each alternative takes time in proportion to the body. */
export function bodyHypotheses(contentLength: number | undefined): readonly Hypothesis<Buffer>[] {
  return [
    { cause: 'body-trimmed', alternatives: trimmed },
    {
      cause: 'body-empty',
      *alternatives() {
        yield { value: Buffer.alloc(0), change: 'no bytes', weight: 2 }
        for (const text of ['{}', 'null', 'undefined', '[object Object]']) {
          yield {
            value: Buffer.from(text),
            change: 'what a parser leaves of a body that it did not read',
            weight: 3,
          }
        }
      },
    },
    {
      cause: 'body-truncated',
      *alternatives(body) {
        if (contentLength !== undefined && contentLength < body.length) {
          yield { value: body.subarray(0, contentLength), change: 'cut to its Content-Length' }
        }
      },
    },
    // Pairs with it are found from this side: the other hypotheses are applied to what it gives.
    { cause: 'body-reserialised', isSlow: true, alternatives: reserialised },
    { cause: 'body-decoded', alternatives: decoded },
    ...compressionHypotheses,
  ]
}

function* trimmed(body: Buffer): Iterable<Alternative<Buffer>> {
  const ended = (text: string) => Buffer.concat([body, Buffer.from(text)])
  yield { value: ended('\n'), change: 'with a line feed at its end' }
  yield { value: ended('\r\n'), change: 'with CR LF at its end' }
  const end =
    body.length - (/\s*$/.exec(body.toString('latin1', Math.max(0, body.length - 64)))?.[0].length ?? 0)
  const start = /^\s*/.exec(body.toString('latin1', 0, 64))?.[0].length ?? 0
  yield { value: body.subarray(0, end), change: 'without the white space at its end' }
  yield { value: body.subarray(Math.min(start, end), end), change: 'without the white space around it' }
  if (body.subarray(0, 3).equals(BOM))
    yield { value: body.subarray(3), change: 'without the byte order mark' }
  yield { value: Buffer.concat([BOM, body]), change: 'with a byte order mark' }
  if (body.includes('\n')) {
    const text = body.toString('latin1')
    yield { value: Buffer.from(text.replaceAll('\r\n', '\n'), 'latin1'), change: 'with LF in place of CR LF' }
    yield {
      value: Buffer.from(text.replaceAll(/\r?\n/g, '\r\n'), 'latin1'),
      change: 'with CR LF in place of LF',
    }
    yield {
      value: Buffer.from(text.replaceAll(/\r?\n/g, ''), 'latin1'),
      change: 'without line ends',
      weight: 2,
    }
  }
  yield { value: ended(' '), change: 'with a space at its end', weight: 2 }
  yield { value: ended('\r\n\r\n'), change: 'with two line ends', weight: 3 }
  yield { value: ended('\0'), change: 'with a zero byte at its end', weight: 3 }
}

function* reserialised(body: Buffer): Iterable<Alternative<Buffer>> {
  if (!isUtf8(body)) return
  const text = body.toString('utf8')
  const tokens = jsonTokens(text.replace(/^\ufeff/, ''))
  if (!tokens) return
  yield* inEveryLayout(tokens, '')
  for (const { name, token } of JSON_SPELLINGS) {
    const spelled = tokens.map(token)
    // Most bodies have nothing that this program spells in another way.
    if (spelled.every((each, index) => each === tokens[index])) continue
    yield { value: Buffer.from(respelled(text, tokens, spelled)), change: name }
    yield* inEveryLayout(spelled, `${name}, `)
  }
  // A body that was serialised twice is a JSON string.
  if (tokens.length === 1 && tokens[0]!.startsWith('"')) {
    yield {
      value: Buffer.from(JSON.parse(tokens[0]!) as string),
      change: 'as the text within the JSON string',
    }
  }
  yield { value: Buffer.from(JSON.stringify(text)), change: 'as a JSON string', weight: 3 }
}

function* inEveryLayout(tokens: JsonTokens, prefix: string): Iterable<Alternative<Buffer>> {
  const layouts = layoutsFor(tokens)
  for (const layout of prefix === '' ? layouts : layouts.slice(0, FREQUENT_LAYOUTS)) {
    const value = Buffer.from(writeJson(tokens, layout))
    yield { value, change: prefix + layout.name, weight: prefix === '' ? 1 : 2 }
  }
}

/** The layouts that are tried with another spelling, too. */
const FREQUENT_LAYOUTS = 3

/** The text with other tokens in the same places. */
function respelled(text: string, tokens: JsonTokens, spelled: JsonTokens): string {
  const parts: string[] = []
  let at = 0
  for (const [index, token] of tokens.entries()) {
    const start = text.indexOf(token, at)
    parts.push(text.slice(at, start), spelled[index]!)
    at = start + token.length
  }
  return parts.join('') + text.slice(at)
}

function* decoded(body: Buffer): Iterable<Alternative<Buffer>> {
  if (isUtf8(body)) {
    const text = body.toString('utf8')
    const latin1 = Buffer.from(text, 'latin1')
    // In ASCII these are the same bytes, and `variants` leaves out what was tried before.
    if (latin1.toString('latin1') === text) yield { value: latin1, change: 'as bytes of Latin-1' }
    for (const form of ['NFC', 'NFD'] as const) {
      yield { value: Buffer.from(text.normalize(form)), change: `in Unicode form ${form}` }
    }
    const windows = windows1252Bytes(text)
    if (windows) yield { value: windows, change: 'as bytes of Windows-1252', weight: 2 }
    yield { value: Buffer.from(text, 'utf16le'), change: 'as bytes of UTF-16', weight: 3 }
  }
  yield { value: Buffer.from(body.toString('latin1')), change: 'as UTF-8 of what was read as Latin-1' }
  if (body.length >= 4 && /^[A-Za-z\d+/_-]+={0,2}\s*$/.test(body.toString('latin1'))) {
    yield { value: Buffer.from(body.toString('latin1'), 'base64'), change: 'decoded from Base64' }
  }
  yield { value: Buffer.from(body.toString('base64')), change: 'encoded as Base64', weight: 2 }
  const bytes = body.length >= 2 && body.length % 2 === 0 ? body.toString('utf16le') : ''
  if (bytes !== '' && body.includes(0))
    yield {
      value: Buffer.from(bytes.replace(/^\ufeff/, '')),
      change: 'as UTF-8 of what is UTF-16',
      weight: 2,
    }
}

/** What 0x80 to 0x9f are in Windows-1252. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** The bytes of a text in Windows-1252; undefined if it has no byte for a character. */
function windows1252Bytes(text: string): Buffer | undefined {
  if (!/[^\0-\xff]/.test(text)) return undefined
  const inLatin1 = text.replaceAll(/[^\0-\xff]/g, (character) => {
    const at = WINDOWS_1252.indexOf(character)
    return at < 0 ? character : String.fromCharCode(0x80 + at)
  })
  return /[^\0-\xff]/.test(inLatin1) ? undefined : Buffer.from(inLatin1, 'latin1')
}
