import type { Alternative, Hypothesis } from './change.js'
import { lowerCodes, percentCode, upperCodes } from './path-changes.js'
import type { RequestUrls, UrlParts } from './request-urls.js'

/** Every order of so many parameters is tried: 4 have 24 orders. */
const MAX_PERMUTED = 4
const MAX_PARAMETERS = 12

export function queryHypothesis(written: string, { targets }: RequestUrls): Hypothesis<UrlParts> {
  const queries = [...targets, written].map((target) => /\?[^#]*/s.exec(target)?.[0] ?? '')
  return {
    cause: 'url-query',
    *alternatives(parts) {
      for (const { value, ...rest } of otherQueries(parts.query, queries)) {
        yield { value: { ...parts, query: value }, ...rest }
      }
    },
  }
}

function* otherQueries(query: string, requested: readonly string[]): Iterable<Alternative<string>> {
  yield { value: '', change: 'without the query' }
  for (const each of requested)
    yield { value: each, change: 'the query of the request, or the query as it is written' }
  yield { value: query === '' ? '?' : query, change: 'with an empty query' }
  if (query.length < 2) return
  const parameters = query.slice(1).split('&')
  if (parameters.length > 1 && parameters.length <= MAX_PARAMETERS) yield* otherOrders(parameters)
  yield { value: query.replaceAll('%20', '+'), change: 'with + for spaces' }
  yield { value: query.replaceAll('+', '%20'), change: 'with %20 for +' }
  yield { value: query.replaceAll('+', '%2B'), change: 'with %2B for +', weight: 2 }
  yield { value: query.replaceAll(/%2B/gi, '+'), change: 'with + for %2B', weight: 2 }
  yield { value: upperCodes(query), change: 'with codes in upper case' }
  yield { value: lowerCodes(query), change: 'with codes in lower case' }
  const punctuation = query.slice(1).replaceAll(/[!'()*~:@,;/?$|[\]{}]/g, percentCode)
  yield { value: `?${punctuation}`, change: 'with codes for punctuation' }
  yield { value: `?${new URLSearchParams(query).toString()}`, change: 'encoded as a form' }
  try {
    yield { value: decodeURIComponent(query), change: 'decoded' }
    yield { value: decodeURIComponent(query.replaceAll('+', ' ')), change: 'decoded as a form' }
    yield {
      value: `?${encodeURI(decodeURIComponent(query.slice(1)))}`,
      change: 'with only the codes that are needed',
    }
  } catch {
    // A % that begins no code.
  }
  yield { value: `?${encodeURI(query.slice(1).toWellFormed())}`, change: 'encoded once more', weight: 2 }
  yield { value: query.replaceAll('&', '&amp;'), change: 'with &amp; for &', weight: 2 }
  yield { value: query.replaceAll('&amp;', '&'), change: 'with & for &amp;', weight: 2 }
  yield { value: query.replaceAll(/=(?=&|$)/g, ''), change: 'without = after empty parameters', weight: 2 }
  yield {
    value: query.replaceAll(/(?<=[?&])[^=&]+(?=&|$)/g, '$&='),
    change: 'with = after empty parameters',
    weight: 2,
  }
  yield { value: query.toLowerCase(), change: 'in lower case', weight: 2 }
  yield { value: `${query}&`, change: 'with & at its end', weight: 3 }
}

function* otherOrders(parameters: readonly string[]): Iterable<Alternative<string>> {
  yield { value: `?${[...parameters].sort().join('&')}`, change: 'sorted' }
  yield { value: `?${parameters.toReversed().join('&')}`, change: 'in reverse order' }
  for (const [index] of parameters.entries()) {
    yield {
      value: `?${parameters.toSpliced(index, 1).join('&')}`,
      change: 'without one parameter',
      weight: 2,
    }
  }
  if (parameters.length > MAX_PERMUTED) return
  for (const order of permutations(parameters))
    yield { value: `?${order.join('&')}`, change: 'in another order', weight: 2 }
}

function permutations(items: readonly string[]): string[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
  )
}
