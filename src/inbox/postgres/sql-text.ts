export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Temporary tables come last. If they are not named, they come first, and one of the same name would hide a table of the inbox. */
export function searchPathOf(schema: string): string {
  return `${quoteIdentifier(schema)}, pg_temp`
}

/** The same whether standard_conforming_strings is on or off: a backslash stands only where it is known to escape. */
export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return text.includes('\\') ? ` E${quoted}` : quoted
}

/** Between marks that the text does not contain. */
export function dollarQuote(text: string): string {
  let mark = '$countersign$'
  while (text.includes(mark)) mark = `${mark.slice(0, -1)}_$`
  return `${mark}\n${text}${mark}`
}

/**
 * A text as it is stored. PostgreSQL refuses U+0000 in a text, which an error message or a header may contain: it is escaped,
 * so that such a text neither is lost nor fails the other rows of its statement.
 */
export function storedText(text: string): string {
  if (!text.includes('\0') && !text.includes(ESCAPE)) return text
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', `${ESCAPE}0`)
}

export function originalText(stored: string): string {
  if (!stored.includes(ESCAPE)) return stored
  return stored.replaceAll(`${ESCAPE}0`, '\0').replaceAll(`${ESCAPE}1`, ESCAPE)
}

/** U+001A, "substitute". */
const ESCAPE = '\u001a'
