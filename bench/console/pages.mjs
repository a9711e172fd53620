// The pages of the console that an inbox with very many entries could make slow.

const STATES = ['dead', 'quarantined', 'unhandled', 'retrying', 'running', 'stored', 'handled', 'discarded']
const DECISIONS = {
  retry: ['dead'],
  release: ['quarantined'],
  discard: ['dead', 'quarantined', 'stored', 'retrying', 'unhandled'],
}

/** The addresses of the pages, by kind. `count`: the entries, whose ids are 1 to `count`. */
export function pagesOf(count) {
  const filters = filtersOf(count)
  const fewer = filters.filter((_, at) => at % 4 === 0)
  const live = Array.from({ length: 50 }, (_, at) => `id=${count - at}`).join('&')
  return {
    'overview and its figures': ['hour', 'day', 'week'].flatMap((range) => [
      `?range=${range}`,
      `live/overview?range=${range}`,
      'live/waiting',
    ]),
    'list, newest page': filters.map((filter) => `entries?${filter}`),
    'list, from the middle on': fewer.map((filter) => `entries?${filter}&from=${count / 2}`),
    // The page searches in ascending order.
    'list, oldest page': fewer.map((filter) => `entries?${filter}&to=0`),
    'list, updates': fewer.map((filter) => `live/entries?${filter}&${live}`),
    'preview of a decision': previews(count),
    'entry and body': [1, count / 2, count].flatMap((id) => [`entry?id=${id}`, `body?id=${id}`]),
  }
}

/** Each choice of states with each part of the form, and without states each two parts. */
function filtersOf(count) {
  const parts = partsOf(count)
  const choices = [...STATES.map((state) => [state]), STATES.slice(0, 3), STATES]
  const withStates = choices.flatMap((states) =>
    [[], ...parts.map((part) => [part])].map((chosen) => [
      ...states.map((state) => ['state', state]),
      ...chosen,
    ]),
  )
  return [...withoutStates(parts), ...withStates].map((filter) => new URLSearchParams(filter).toString())
}

function withoutStates(parts) {
  const pairs = parts.flatMap((part, at) => parts.slice(at + 1).map((other) => [part, other]))
  return [[], ...parts.map((part) => [part]), ...pairs.filter(([[name], [other]]) => name !== other)]
}

function previews(count) {
  return Object.entries(DECISIONS).flatMap(([action, states]) =>
    states.flatMap((state) =>
      [[], ...partsOf(count).map((part) => [part])].map(
        (parts) => `decide?${new URLSearchParams([['action', action], ['state', state], ...parts])}`,
      ),
    ),
  )
}

/** Values that entries have, and values that none has. */
function partsOf(count) {
  const day = (ago) => new Date(Date.now() - ago * 24 * 3_600_000).toISOString().slice(0, 16)
  const number = String(count / 2).padStart(36, '0')
  return [
    ['type', 'transfers.book-completed'],
    ['type', 'accounts.closed'],
    ['type', 'none'],
    ['subscription', 'transfers.book-completed https://partner.example.com/hooks/transfers'],
    ['subscription', 'none'],
    ['key', number],
    ['key', 'none'],
    ['bodyId', number],
    ['bodyId', 'none'],
    ['reason', 'err_handler_failed'],
    ['reason', 'none'],
    ['after', day(6)],
    ['after', day(0)],
    ['before', day(1)],
    ['before', day(7)],
  ]
}
