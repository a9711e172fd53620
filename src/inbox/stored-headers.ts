import type { ArrivedHeaders } from './operations.js'

/**
 * Headers in the form in which a row of an inbox stores them: a JSON list of alternating names and values, with one more element if
 * they were cut. This is shorter than the JSON of the object. Every entry has it.
 */
export function storedHeaders(headers: ArrivedHeaders | undefined): string | null {
  if (headers === undefined) return null
  const list: (string | true)[] = []
  // Not flat(), which takes longer than all the rest.
  for (const [name, value] of headers.pairs) list.push(name, value)
  if (headers.isCut) list.push(true)
  return JSON.stringify(list)
}

export function headersOf(stored: string | null): ArrivedHeaders | undefined {
  if (stored === null) return undefined
  const list = JSON.parse(stored) as string[]
  const pairs = Array.from({ length: list.length >> 1 }, (_, index) => {
    return [list[2 * index]!, list[2 * index + 1]!] as const
  })
  return { pairs, isCut: list.length % 2 === 1 }
}
