import fc from 'fast-check'
import { askedDelayMs } from '../../src/client/retry.js'
import { formatHttpDate } from '../../src/signature/timestamp.js'
import { collectedLog } from '../support/collected-log.js'
import { until } from '../support/until.js'
import { clientOf, json, rejection, startService } from './service.js'

const NOW = Date.UTC(2026, 10, 3, 9, 14, 27)
const clock = () => NOW

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['7', 7_000],
    ['007', 7_000],
  ])('of %s is so many seconds', (value, delayMs) => {
    expect(askedDelayMs({ 'retry-after': value }, clock)).toBe(delayMs)
  })

  it('as a date is the time from now until then', () => {
    const date = formatHttpDate(new Date(NOW + 5_000))
    expect(askedDelayMs({ 'retry-after': date }, clock)).toBe(5_000)
  })

  it('as a date is measured by the clock of the service, where it shows it', () => {
    const headers = {
      'retry-after': formatHttpDate(new Date(NOW + 3_605_000)),
      date: formatHttpDate(new Date(NOW + 3_600_000)),
    }
    expect(askedDelayMs(headers, clock)).toBe(5_000)
  })

  it.each([[''], ['-5'], ['1.5'], ['soon'], ['1, 2'], ['0x10'], ['Tue, 31 Feb 2026 09:14:27 GMT']])(
    'of %j asks for nothing',
    (value) => {
      expect(askedDelayMs({ 'retry-after': value }, clock)).toBeUndefined()
    },
  )

  it('in the past asks for nothing', () => {
    expect(askedDelayMs({ 'retry-after': formatHttpDate(new Date(0)) }, clock)).toBe(0)
  })

  it('is never anything but zero or more, whatever it holds', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (value, date) => {
        expect(askedDelayMs({ 'retry-after': value, date }, clock) ?? 0).toBeGreaterThanOrEqual(0)
      }),
    )
  })

  it.each([[429], [503]])('of a %i is how long the next attempt waits', async (status) => {
    const logger = collectedLog()
    const service = await startService({
      api: (response) => json(response, status, {}, { 'Retry-After': '30' }),
    })
    const client = clientOf(service, { logger })
    const ended = rejection(client.accounts.update('1', { name: 'x' }))
    const delays = () => logger.lines.flatMap(({ fields }) => fields['delayMs'] ?? [])
    await until(() => delays().length > 0)
    expect(delays()).toEqual([30_000])
    await client.close()
    await ended
  })
})

it('delays double, with up to half of each left to chance', async () => {
  const logger = collectedLog()
  const service = await startService({ api: (response) => json(response, 503, {}) })
  await clientOf(service, { logger, retryDelayMs: 8, maxAttempts: 5 }).accounts.update('1', { name: 'x' })
  const delays = logger.lines.flatMap(({ fields }) => fields['delayMs'] ?? [])
  expect(delays).toHaveLength(4)
  for (const [index, delayMs] of delays.entries()) {
    expect(delayMs).toBeGreaterThanOrEqual(4 * 2 ** index)
    expect(delayMs).toBeLessThanOrEqual(8 * 2 ** index)
  }
})
