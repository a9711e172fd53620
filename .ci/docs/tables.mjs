const MAX_COLUMNS = 100

/** Tables are read in terminals, too: a wider one wraps, and its columns can no longer be told apart. */
export function checkTables({ path, prose }) {
  return prose.flatMap((line, index) =>
    line.startsWith('|') && line.length > MAX_COLUMNS
      ? [
          `${path}:${index + 1}: a table of ${line.length} columns: shorten it to ${MAX_COLUMNS}, or make it a list`,
        ]
      : [],
  )
}
