// One token of RFC 8259, after white space: punctuation, a string, or another value.
const TOKEN =
  /[\t\n\r ]*(?:([{}[\]:,])|("(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/uy

/**
 * The line, from 1, in which a text ceases to be JSON. JSON.parse() tells the position only of some mistakes, and in its
 * messages quotes the text, in which a secret may stand.
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
      // The mistake begins after the white space.
      const rest = text.slice(start)
      return start + (rest.trim() === '' ? rest.trimEnd().length : rest.length - rest.trimStart().length)
    }
    expected = next
  }
}

/** What may follow; undefined where the token may not stand here. */
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
