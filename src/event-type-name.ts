/** No bound is documented; a header must fit into what servers take for a head, which is 8 KB at least with most. */
const MAX_LENGTH = 1_024

/**
 * Why a text cannot be an eventTypeName, or undefined when it can. Callbacks carry it in X-Event-Type (SERVICE 6), so it has
 * to be a field value of HTTP (RFC 9110, section 5.5): visible characters, and spaces and tabs only between them.
 */
export function eventTypeNameProblem(eventTypeName: unknown): string | undefined {
  const example = 'use a name such as "transfers.book-completed"'
  if (typeof eventTypeName !== 'string' || eventTypeName === '')
    return `eventTypeName must be a text: ${example}`
  const found = `eventTypeName is a text of ${eventTypeName.length} characters`
  if (eventTypeName.length > MAX_LENGTH) return `${found}: use at most ${MAX_LENGTH}`
  if (/^[\t ]|[\t ]$/.test(eventTypeName)) return `${found} with white space around it: leave that out`
  // obs-text (%x80-FF) is allowed in a field value; beyond it there is no byte for a character.
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(eventTypeName)) return undefined
  return `${found} with one that no HTTP header can carry, such as a line end: ${example}`
}
