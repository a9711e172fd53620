import { printable } from '../base/printable.js'
import type { Output } from './io.js'

interface TableLayout {
  /** How wide a line may be. */
  readonly width: number
  /** The greatest width of a column, by its position, so that one long cell does not widen every row. */
  readonly most?: Readonly<Record<number, number>>
  /** The columns that are narrowed if the rows are too wide, in this order, with the least width of each. */
  readonly narrow?: readonly (readonly [column: number, least: number])[]
}

/** The width of the terminal. Without a terminal, the usual width of mails and log viewers. */
export function widthOf({ columns }: Output): number {
  return columns ?? 100
}

/**
 * Lines with aligned columns. Control characters in cells are escaped. A cell that does not fit ends with an
 * ellipsis.
 */
export function table(rows: readonly (readonly string[])[], layout?: TableLayout): string {
  return tableLines(rows, layout)
    .map((line) => `${line}\n`)
    .join('')
}

export function tableLines(rows: readonly (readonly string[])[], layout?: TableLayout): string[] {
  const cells = rows.map((row) => row.map((cell) => Array.from(printable(cell))))
  const widths = cells.reduce<number[]>((widest, row) => {
    row.forEach(({ length }, column) => (widest[column] = Math.max(length, widest[column] ?? 0)))
    return widest
  }, [])
  if (layout) fit(widths, layout)
  return cells.map((row) =>
    row
      .map((cell, column) => cut(cell, widths[column]!).padEnd(widths[column]!))
      .join(GAP)
      .trimEnd(),
  )
}

/** One line of foreign text. It ends with an ellipsis if it does not fit. */
export function fitted(text: string, width: number): string {
  return cut(Array.from(printable(text)), width)
}

/** Names and values. A value that does not fit continues on the next line. */
export function fields(rows: readonly (readonly [name: string, value: string])[], width: number): string {
  // A name may be that of a file, which can have any characters.
  const safe = rows.map(([name, value]) => [printable(name), value] as const)
  const indent = Math.max(...safe.map(([name]) => name.length)) + GAP.length
  return safe
    .flatMap(([name, value]) =>
      wrapped(value, Math.max(width - indent, 20)).map((line, index) =>
        `${(index === 0 ? name : '').padEnd(indent)}${line}`.trimEnd(),
      ),
    )
    .map((line) => `${line}\n`)
    .join('')
}

/** Text in lines of at most this width, broken between words if possible. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let rest = printable(text)
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width)
    const end = space > 0 ? space : endOfCharacter(rest, width)
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest]
}

/** A time as tables show it, in UTC and to the second. A value that is not a time is unchanged. */
export function utcTime(time: Date | string): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString().slice(0, 19).replace('T', ' ')
}

const GAP = '  '

function fit(widths: number[], { width, most = {}, narrow = [] }: TableLayout): void {
  for (const [column, limit] of Object.entries(most)) {
    widths[Number(column)] = Math.min(widths[Number(column)] ?? 0, limit)
  }
  for (const [column, least] of narrow) {
    const excess = widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length) - width
    if (excess <= 0) return
    widths[column] = Math.max(widths[column]! - excess, Math.min(least, widths[column]!))
  }
}

/** The end of the last whole character within so many UTF-16 units. */
function endOfCharacter(text: string, units: number): number {
  return units > 1 && text.codePointAt(units - 1)! > 0xff_ff ? units - 1 : units
}

// By code points: a cut within a surrogate pair would leave an invalid character.
function cut(characters: readonly string[], width: number): string {
  if (characters.length <= width) return characters.join('')
  return `${characters.slice(0, Math.max(width - 1, 0)).join('')}…`
}
