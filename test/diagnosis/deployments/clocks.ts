import { received } from '../signed-elsewhere.js'
import { instead } from './changed-headers.js'
import type { Deployment } from './deployment.js'

const CAPTURED = received({})
const at = (text: string) => ({ ...CAPTURED, receivedAt: new Date(text) })

export const CLOCKS: Deployment[] = [
  { mistake: 'the clock of the machine is behind', cause: 'clock-skew', request: at('2026-11-03T08:14:27Z') },
  {
    mistake: 'the queue of the service was stopped for two days',
    cause: 'delivery-late',
    certainty: 'likely',
    request: at('2026-11-05T09:14:27Z'),
  },
  {
    mistake: 'the clock of the machine is two days ahead',
    cause: 'clock-skew',
    certainty: 'likely',
    request: at('2026-11-05T09:14:27Z'),
    options: {
      otherRequests: [
        {
          ...received({ timestamp: 'Tue, 03 Nov 2026 10:00:00 GMT' }),
          receivedAt: new Date('2026-11-05T10:00:01Z'),
        },
      ],
    },
  },
  {
    mistake: 'a captured delivery was sent under a new key',
    cause: 'replayed',
    request: CAPTURED,
    options: {
      otherRequests: [
        received(
          {},
          {
            headers: instead('X-Idempotency-Key', [
              'X-Idempotency-Key',
              '00000000-0000-4000-8000-000000000000',
            ]),
          },
        ),
      ],
    },
  },
]
