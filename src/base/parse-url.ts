/**
 * The absolute URL that a text is; undefined for any other text. In place of `URL.canParse`, which refuses hosts that are
 * not ASCII on Node 20 once V8 has optimized it.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
