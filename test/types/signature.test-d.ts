import {
  signCallback,
  verifyCallback,
  type Verification,
  type VerificationFailure,
} from '../../src/signature/index.js'
import { equal } from './equal.js'

const callback = { callbackUrl: 'https://a.example/', timestamp: 'x', body: Buffer.alloc(0) }
const verification: Verification = verifyCallback({ ...callback, secret: 's', authorization: undefined })

// The union cannot be half-read.
// @ts-expect-error only a valid callback has a time
void verification.signedAt
// @ts-expect-error only one that is not has a code
void verification.code
if (verification.valid) equal<Date>()(verification.signedAt)
else equal<VerificationFailure>()(verification.code)

verifyCallback({ ...callback, secret: ['a', 'b'] as const, authorization: ['a', 'b'] })
// @ts-expect-error a body is bytes: a text has lost them
verifyCallback({ ...callback, secret: 's', authorization: 'x', body: '{}' })
// @ts-expect-error there is no secret that is not there
verifyCallback({ ...callback, secret: undefined, authorization: 'x' })
// @ts-expect-error the time of signing is not left to chance
signCallback({ callbackUrl: 'https://a.example/', secret: 's', body: Buffer.alloc(0) })
equal<string>()(signCallback({ ...callback, secret: 's' }))
