import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseReceiverOptions } from '../../src/receiver/settings.js'
import { subscription } from '../support/subscription.js'

const read = (path: string) => readFileSync(join(__dirname, '../..', path), 'utf8')
const page = read('docs/options.md')

it('the defaults are those of docs/options.md', () => {
  const options = { subscriptions: [subscription] }
  const { limits, handlerTimeoutMs, leaseMs, stopTimeoutMs, authentication } = parseReceiverOptions(options)
  const { toleranceMs, futureToleranceMs, dependencyTimeoutMs } = authentication
  const defaults = {
    ...limits,
    handlerTimeoutMs,
    leaseMs,
    stopTimeoutMs,
    toleranceMs,
    futureToleranceMs,
    dependencyTimeoutMs,
  }
  expect(defaults).toEqual(Object.fromEntries(Object.keys(defaults).map((name) => [name, documented(name)])))
})

/** The number in the second column of the option's row. */
function documented(option: string): number {
  const row = new RegExp(`^\\| \`${option}\` +\\| ([\\d,]+)`, 'm').exec(page)
  return Number(row?.[1]?.replaceAll(',', ''))
}
