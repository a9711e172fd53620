// One token of RFC 8259, after white space: punctuation, a string, or another value.
const TOKEN =
  /[\t\n\r ]*(?:([{}[\]:,])|("(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/uy

/**
 * The line, from 1, of the first JSON syntax error of a text. JSON.parse() gives the position of only some errors,
 * and its messages quote the text, which may contain a secret.
 */
export function jsonErrorLine(text: string): number {
  const offset = errorOffset(text)
  return text.slice(0, offset).split('\n').length
}

type Expected = 'value' | 'value or end' | 'key' | 'key or end' | 'colon' | 'separator'

function errorOffset(text: string): number {
  const open: string[] = []
  let expected: Expected = 'value'
  TOKEN.lastIndex = 0
  for (;;) {
    const start = TOKEN.lastIndex
    const [, mark, string, other] = TOKEN.exec(text) ?? []
    const token = mark ?? string ?? other
    const next: Expected | undefined =
      token === undefined ? undefined : after(expected, { mark, string }, open)
    if (next === undefined) {
      // The error begins after the white space.
      const rest = text.slice(start)
      return start + (rest.trim() === '' ? rest.trimEnd().length : rest.length - rest.trimStart().length)
    }
    expected = next
  }
}

/** What may follow the token; undefined if the token is not allowed here. */
function after(
  expected: Expected,
  { mark, string }: { mark: string | undefined; string: string | undefined },
  open: string[],
): Expected | undefined {
  const closes = mark === '}' || mark === ']'
  if (closes) {
    const mayEnd = expected === 'separator' || expected === (mark === '}' ? 'key or end' : 'value or end')
    return mayEnd && open.pop() === mark ? 'separator' : undefined
  }
  switch (expected) {
    case 'value':
    case 'value or end':
      if (mark === undefined) return 'separator'
      if (mark !== '{' && mark !== '[') return undefined
      open.push(mark === '{' ? '}' : ']')
      return mark === '{' ? 'key or end' : 'value or end'
    case 'key':
    case 'key or end':
      return string === undefined ? undefined : 'colon'
    case 'colon':
      return mark === ':' ? 'value' : undefined
    case 'separator':
      if (mark !== ',') return undefined
      return open.at(-1) === '}' ? 'key' : open.at(-1) === ']' ? 'value' : undefined
  }
}
