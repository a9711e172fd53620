import { FailureLog } from '../../src/logging/failure-log.js'
import { collectedLog } from '../support/collected-log.js'
import { fakeClock } from '../support/fake-clock.js'

function failing() {
  const clock = fakeClock(0)
  const { lines, ...logger } = collectedLog()
  return { clock, lines, log: new FailureLog(logger, 'the inbox cannot be read', clock) }
}

it('writes the first failure, and one line a minute with the number of failures', () => {
  const { clock, lines, log } = failing()
  for (let second = 0; second < 121; second++) {
    log.failed({ code: 'ERR', second })
    clock.advance(1_000)
  }
  expect(lines).toEqual([
    { level: 'error', fields: { code: 'ERR', second: 0 }, message: 'the inbox cannot be read' },
    {
      level: 'error',
      fields: { code: 'ERR', second: 60, failures: 61 },
      message: 'the inbox cannot be read',
    },
    {
      level: 'error',
      fields: { code: 'ERR', second: 120, failures: 121 },
      message: 'the inbox cannot be read',
    },
  ])
  expect(log.succeeded()).toBe(121)
})

it('writes the next failure after a success at once', () => {
  const { lines, log } = failing()
  log.failed({ attempt: 1 })
  log.failed({ attempt: 2 })
  expect(log.succeeded()).toBe(2)
  expect(log.succeeded()).toBe(0)
  log.failed({ attempt: 3 })
  expect(lines.map(({ fields }) => fields)).toEqual([{ attempt: 1 }, { attempt: 3 }])
})
