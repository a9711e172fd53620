import { checkKnownOptions, integerOption, refuseOption, wrongOption } from '../base/option-checks.js'
import { similarName } from '../base/similar-name.js'
import { secretProblem } from '../signature/secret.js'

/** A deliberate defect of a delivery. A name alone uses the defaults. */
export type Fault =
  /** The same request again, one after the other; `times` in all. @default times: 2 */
  | { readonly kind: 'repeat'; readonly times?: number | undefined }
  /** The same callback again, each time with a later timestamp and therefore another signature. @default times: 2 */
  | { readonly kind: 'repeat-signed-anew'; readonly times?: number | undefined }
  /** The same request several times at the same time. @default count: 2 */
  | { readonly kind: 'twins'; readonly count?: number | undefined }
  /** Signed this long ago: suspect beyond the simulator's `toleranceMs`. @default byMs: 172_800_000 (48 hours) */
  | { readonly kind: 'late'; readonly byMs?: number | undefined }
  /** Signed this far in the future: suspect beyond its `futureToleranceMs`. @default byMs: 3_600_000 (1 hour) */
  | { readonly kind: 'early'; readonly byMs?: number | undefined }
  /** A forgery: signed with a random secret. */
  | { readonly kind: 'wrong-secret' }
  /** Without the Authorization header. */
  | { readonly kind: 'unsigned' }
  /** One bit of the body changed after signing. */
  | { readonly kind: 'tampered' }
  /** The second half of the body is missing, and Content-Length is the length of the first half. */
  | { readonly kind: 'truncated' }
  /** Signed with the secret before the last `rotateSecret()`. */
  | { readonly kind: 'previous-secret' }
  /** Signed with a secret that the subscription does not have yet. */
  | { readonly kind: 'next-secret'; readonly secret: string }
  /** A replay: the request, and then the same request with another idempotency key, which is not signed. */
  | { readonly kind: 'rewritten-key' }
  /** X-Event-Type changed after signing, which the signature does not cover. @default eventType: 'rewritten.type' */
  | { readonly kind: 'rewritten-type'; readonly eventType?: string | undefined }
  /** The callback, and then another signed body with the same idempotency key. */
  | { readonly kind: 'other-body' }
  /** A body that is not JSON, correctly signed. */
  | { readonly kind: 'not-json' }
  /** A chunked body of this size, so that no header states the size. @default bytes: 1_048_577 (1 MiB and one) */
  | { readonly kind: 'oversize'; readonly bytes?: number | undefined }
  /**
   * The body in up to 20 pieces: the headers are sent immediately, and the last byte this many milliseconds later.
   * More than the receiver's `bodyTimeoutMs` causes a 408. @default overMs: 1_000
   */
  | { readonly kind: 'slow'; readonly overMs?: number | undefined }
  /** The whole request; then the connection is closed before the answer can be read. */
  | { readonly kind: 'cut-before-answer' }
  /** Half of the body; then the connection is closed. */
  | { readonly kind: 'cut-in-body' }

/** The kind of a fault. */
export type FaultKind = Fault['kind']

/** The faults that need no settings. */
export type FaultName = Exclude<FaultKind, 'next-secret'>

/**
 * What a receiver has to do with a request. `genuine`: handle it once. `suspect`: the signature is valid, but
 * something else is wrong, so that an operator has to decide. `forged`: never handle it, and never answer 2xx.
 */
export type Authenticity = 'genuine' | 'suspect' | 'forged'

/**
 * The expected statuses of each attempt. The last entry applies to all further attempts. Empty if there can be no
 * answer.
 */
type RightAnswers = readonly (readonly number[])[]

interface FaultRow {
  /** Handlers run before the answer. */
  readonly inline: RightAnswers
  readonly inbox: RightAnswers
}

const TAKEN: FaultRow = { inline: [[200]], inbox: [[200]] }
const REFUSED: FaultRow = { inline: [[401]], inbox: [[401]] }
const NO_ANSWER: FaultRow = { inline: [[]], inbox: [[]] }

/**
 * How a Countersign receiver with default options answers if its handlers succeed. docs/simulator.md has the same
 * table; a test compares the two and delivers each fault.
 */
export const FAULTS = {
  repeat: TAKEN,
  'repeat-signed-anew': TAKEN,
  // The request that arrives while the other one is being handled gets 409.
  twins: { inline: [[200, 409]], inbox: [[200]] },
  late: { inline: [[401]], inbox: [[200]] },
  early: { inline: [[401]], inbox: [[200]] },
  'wrong-secret': REFUSED,
  unsigned: REFUSED,
  tampered: REFUSED,
  truncated: REFUSED,
  'previous-secret': TAKEN,
  'next-secret': TAKEN,
  'rewritten-key': { inline: [[200], [409]], inbox: [[200]] },
  'rewritten-type': { inline: [[401]], inbox: [[200]] },
  'other-body': { inline: [[200], [409]], inbox: [[200]] },
  'not-json': { inline: [[400]], inbox: [[200]] },
  oversize: { inline: [[413]], inbox: [[413]] },
  slow: TAKEN,
  'cut-before-answer': NO_ANSWER,
  'cut-in-body': NO_ANSWER,
} as const satisfies Record<FaultKind, FaultRow>

/** The settings that `countersign send` has as well. */
export const FAULT_DEFAULTS = {
  lateByMs: 172_800_000,
  earlyByMs: 3_600_000,
  rewrittenType: 'rewritten.type',
} as const

/** The most that the faults `late` and `early` may differ from now, in milliseconds. */
export const MAX_BY_MS = 10 ** 12
/** The longest that a body of the fault `slow` may take, in milliseconds. */
export const MAX_SLOW_MS = 600_000

/** The range of each setting. */
const SETTINGS = {
  times: { min: 1, max: 1_000 },
  count: { min: 2, max: 1_000 },
  byMs: { min: 0, max: MAX_BY_MS },
  bytes: { min: 1, max: 64 * 1_048_576 },
  overMs: { min: 1, max: MAX_SLOW_MS },
} as const

const SETTINGS_OF: Readonly<Partial<Record<FaultKind, readonly string[]>>> = {
  repeat: ['times'],
  'repeat-signed-anew': ['times'],
  twins: ['count'],
  late: ['byMs'],
  early: ['byMs'],
  'next-secret': ['secret'],
  'rewritten-type': ['eventType'],
  oversize: ['bytes'],
  slow: ['overMs'],
}

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function faultOption(fault: Fault | FaultName): Fault {
  const given = typeof fault === 'string' ? ({ kind: fault } as Fault) : fault
  const kind: unknown = given?.kind
  if (typeof kind !== 'string' || !Object.hasOwn(FAULTS, kind)) {
    const shown = JSON.stringify(String(kind).slice(0, 100))
    const kinds = Object.keys(FAULTS)
    const meant = typeof kind === 'string' ? similarName(kind, kinds) : undefined
    const guess = meant === undefined ? '' : ` Did you mean ${JSON.stringify(meant)}?`
    throw wrongOption(
      'deliver',
      'fault',
      `there is no fault ${shown}. Use one of ${kinds.join(', ')}.${guess}`,
    )
  }
  const owner = `deliver: fault ${kind}`
  checkKnownOptions(owner, given, ['kind', ...(SETTINGS_OF[given.kind] ?? [])])
  for (const [name, range] of Object.entries(SETTINGS)) {
    const value = (given as unknown as Record<string, number | undefined>)[name]
    integerOption(owner, name, value, { ...range, fallback: range.min })
  }
  if (given.kind === 'next-secret') refuseOption(owner, 'secret', secretProblem(given.secret))
  return given
}

/** The correct statuses for an attempt, counted from 0. */
export function rightAnswers(
  fault: FaultKind | undefined,
  receiver: keyof FaultRow,
  attempt: number,
): readonly number[] {
  const answers: RightAnswers = (fault ? FAULTS[fault] : TAKEN)[receiver]
  return answers[Math.min(attempt, answers.length - 1)]!
}
