/**
 * JSON with one value per line. The text of each value stays as it is: parsing and writing it again would round long numbers
 * and drop repeated names. Undefined if it is not JSON.
 */
export function jsonLayout(text: string): string | undefined {
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  const lines: string[] = []
  let line = ''
  let depth = 0
  const endLine = (): void => {
    lines.push(line)
    // The indent is limited, so that the length stays linear also for deep nesting.
    line = '  '.repeat(Math.min(depth, MAX_INDENT))
  }
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      line += token
      depth++
      endLine()
    } else if (token === '}' || token === ']') {
      depth--
      // An empty object or list stays on one line.
      if (/^ *$/.test(line) && /[{[]$/.test(lines.at(-1) ?? '')) line = lines.pop()!
      else endLine()
      line += token
    } else if (token === ',') {
      line += token
      endLine()
    } else {
      line += token === ':' ? ': ' : token
    }
  }
  return [...lines, line].join('\n')
}

const MAX_INDENT = 40
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g
