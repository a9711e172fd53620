import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseReceiverOptions } from '../../src/receiver/settings.js'
import { subscription } from '../support/subscription.js'

const readme = readFileSync(join(__dirname, '../../README.md'), 'utf8')

it('the defaults are those of the README', () => {
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
  const row = new RegExp(`^\\| \`${option}\` +\\| ([\\d,]+)`, 'm').exec(readme)
  return Number(row?.[1]?.replaceAll(',', ''))
}
