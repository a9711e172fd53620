import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAuthenticator } from '../../src/callback/authenticator.js'
import { KnownSecrets } from '../../src/logging/known-secrets.js'
import { silentLogger } from '../../src/logging/logger.js'
import { parseReceiverOptions } from '../../src/receiver/settings.js'
import { subscription } from '../support/running-receiver.js'

const readme = readFileSync(join(__dirname, '../../README.md'), 'utf8')

it('the defaults are those of the README', () => {
  const options = { subscriptions: [subscription] }
  const { limits, handlerTimeoutMs, leaseMs, stopTimeoutMs } = parseReceiverOptions(options)
  const authenticator = createAuthenticator('createReceiver', options, silentLogger, new KnownSecrets())
  const { toleranceMs, futureToleranceMs, dependencyTimeoutMs } = authenticator
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
  const row = new RegExp(`^\\| \`${option}\` +\\| ([\\d ]+\\d)`, 'm').exec(readme)
  return Number(row?.[1]?.replaceAll(' ', ''))
}
