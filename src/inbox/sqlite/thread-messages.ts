import { CountersignError } from '../../base/errors.js'
import { property } from '../../base/foreign-value.js'
import type { EntryId, VerifiedCallback } from '../../callback/callback.js'
import type { AddResult, QuarantineCause } from '../engine.js'
import { bufferOf } from '../stored-entry.js'
import type { ArrivalToStore } from './operations.js'
import { entryIdOf, rowIdOf } from './row-id.js'
import type { Written } from './store.js'

/** What is the same for all callbacks of a type that a secret of a subscription has signed. */
type Source = Pick<VerifiedCallback, 'type' | 'subscription' | 'secretFingerprint'>

/**
 * Arrivals in one message, as columns: an object for each would cost the two threads more than its commit. The bodies lie behind each
 * other in one buffer, which is not copied.
 */
export interface PackedArrivals {
  readonly sources: readonly Source[]
  /** The index of the source of each arrival. */
  readonly sourceOf: readonly number[]
  readonly bodies: Uint8Array<ArrayBuffer>
  readonly lengths: readonly number[]
  /** `signedAt` and `receivedAt` of each. */
  readonly times: readonly number[]
  /** `leaseMs` of those that begin as they are stored; 0 of the others. */
  readonly leases: readonly number[]
  /** `TEXTS` texts of each. */
  readonly texts: readonly string[]
  /** What few arrivals have. */
  readonly rest: readonly (Rest | undefined)[]
}

type Rest = Pick<ArrivalToStore, 'suspicion' | 'orderKey' | 'traceContext'>

const TEXTS = 6

export function packArrivals(arrivals: readonly ArrivalToStore[]): PackedArrivals {
  const sources: Source[] = []
  const sourceOf: number[] = []
  const lengths: number[] = []
  const times: number[] = []
  const leases: number[] = []
  const texts: string[] = []
  const rest: (Rest | undefined)[] = []
  let bytes = 0
  for (const arrival of arrivals) {
    const { callback, key, bodyHash, signature, bodyId, headers, begin } = arrival
    sourceOf.push(indexOf(callback, sources))
    lengths.push(callback.rawBody.length)
    bytes += callback.rawBody.length
    times.push(Number(callback.signedAt), Number(callback.receivedAt))
    leases.push(begin?.leaseMs ?? 0)
    // Neither the `Id` of a body nor stored headers are ever an empty text.
    texts.push(callback.idempotencyKey, key, bodyHash, signature, bodyId ?? '', headers ?? '')
    rest.push(restOf(arrival))
  }
  // Never of no bytes: node:sqlite of Node 22 takes an empty body in such a buffer for NULL.
  const bodies = new Uint8Array(Math.max(1, bytes))
  let at = 0
  for (const { callback } of arrivals) {
    bodies.set(callback.rawBody, at)
    at += callback.rawBody.length
  }
  return { sources, sourceOf, bodies, lengths, times, leases, texts, rest }
}

export function unpackArrivals(packed: PackedArrivals): ArrivalToStore[] {
  let at = 0
  return packed.sourceOf.map((source, index) => {
    const [idempotencyKey, key, bodyHash, signature, bodyId, headers] = packed.texts.slice(index * TEXTS) as [
      string,
      string,
      string,
      string,
      string,
      string,
    ]
    const length = packed.lengths[index]!
    const leaseMs = packed.leases[index]!
    const rawBody = Buffer.from(packed.bodies.buffer, at, length)
    at += length
    return {
      callback: {
        ...packed.sources[source]!,
        idempotencyKey,
        signedAt: new Date(packed.times[2 * index]!),
        receivedAt: new Date(packed.times[2 * index + 1]!),
        rawBody,
      },
      key,
      bodyHash,
      signature,
      bodyId: bodyId === '' ? undefined : bodyId,
      headers: headers === '' ? null : headers,
      begin: leaseMs === 0 ? undefined : { leaseMs },
      ...packed.rest[index],
    }
  })
}

function indexOf({ type, subscription, secretFingerprint }: VerifiedCallback, sources: Source[]): number {
  const index = sources.findIndex(
    (source) =>
      source.subscription === subscription &&
      source.type === type &&
      source.secretFingerprint === secretFingerprint,
  )
  return index === -1 ? sources.push({ type, subscription, secretFingerprint }) - 1 : index
}

function restOf({ suspicion, orderKey, traceContext }: ArrivalToStore): Rest | undefined {
  const hasNone = suspicion === undefined && orderKey === undefined && traceContext === undefined
  return hasNone ? undefined : { suspicion, orderKey, traceContext }
}

/** What became of arrivals: of each its kind, its id and the token of its claim or 0. */
export interface PackedAdded {
  readonly numbers: readonly number[]
  /** By the index of the arrival. */
  readonly failures: ReadonlyMap<number, Failure>
}

const STORED = 0
const DUPLICATE = 1
const FAILED = 2
const QUARANTINED = 3
const CAUSES = ['suspicion', 'conflict', 'replay', 'forgotten'] as const satisfies readonly QuarantineCause[]

export function packAdded(added: readonly Written<AddResult>[]): PackedAdded {
  const numbers: number[] = []
  const failures = new Map<number, Failure>()
  for (const [index, each] of added.entries()) {
    if ('error' in each) {
      failures.set(index, failureOf(each.error))
      numbers.push(FAILED, 0, 0)
      continue
    }
    const { result } = each
    const kind =
      result.result === 'stored'
        ? STORED
        : result.result === 'duplicate'
          ? DUPLICATE
          : QUARANTINED + CAUSES.indexOf(result.why)
    numbers.push(kind, rowIdOf(result.id)!, ('claim' in result ? result.claim?.token : undefined) ?? 0)
  }
  return { numbers, failures }
}

export function unpackAdded({ numbers, failures }: PackedAdded): Written<AddResult>[] {
  return Array.from({ length: numbers.length / 3 }, (_, index) => {
    const [kind, row, token] = numbers.slice(3 * index) as [number, number, number]
    const id: EntryId = entryIdOf(row)
    if (kind === FAILED) return { error: errorOf(failures.get(index)!) }
    if (kind === DUPLICATE) return { result: { result: 'duplicate', id } }
    if (kind !== STORED) return { result: { result: 'quarantined', id, why: CAUSES[kind - QUARANTINED]! } }
    return { result: token === 0 ? { result: 'stored', id } : { result: 'stored', id, claim: { id, token } } }
  })
}

/** An error, with the properties by which faults are told apart: a message between threads loses them. */
export interface Failure {
  readonly message: string
  readonly isOurs: boolean
  readonly code: string | undefined
  readonly errcode: number | undefined
  readonly syscall: string | undefined
  readonly cause: Failure | undefined
}

export function failureOf(error: unknown): Failure {
  const cause = property(error, 'cause')
  return {
    message: String(property(error, 'message') ?? error),
    isOurs: error instanceof CountersignError,
    code: property(error, 'code') as string | undefined,
    errcode: property(error, 'errcode') as number | undefined,
    syscall: property(error, 'syscall') as string | undefined,
    cause: cause === undefined ? undefined : failureOf(cause),
  }
}

export function errorOf({ message, isOurs, code, errcode, syscall, cause }: Failure): Error {
  const options = cause && { cause: errorOf(cause) }
  if (isOurs) return new CountersignError(code!, message, options)
  return Object.assign(new Error(message, options), { code, errcode, syscall })
}

/**
 * A callback for handlers. What comes from a thread belongs to another realm in some test runners, where `instanceof Date` is false
 * for it.
 */
export function callbackOfThread(callback: VerifiedCallback): VerifiedCallback {
  const { signedAt, receivedAt, rawBody } = callback
  return {
    ...callback,
    signedAt: new Date(signedAt),
    receivedAt: new Date(receivedAt),
    rawBody: bufferOf(rawBody),
  }
}

/** Bytes arrive as a Uint8Array, whatever they were. */
export function withBuffer<Entry extends { readonly rawBody: Uint8Array }>(entry: Entry): Entry {
  return { ...entry, rawBody: bufferOf(entry.rawBody) }
}
