import { hash, type KeyObject } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { MaybePending } from '../base/pending.js'
import { withTimeout } from '../base/timeout.js'
import type { Tolerance } from '../callback/authenticate.js'
import { onlyValue, type CallbackRequest } from '../callback/callback.js'
import type { OutcomeCode } from '../callback/outcomes.js'
import type { PreparedSubscription } from '../callback/prepared-subscription.js'
import type { SubscriptionLookup } from '../callback/subscriptions.js'
import { findMarkers, isMarkerOf, probeKey, type ProbeMarker } from './marker.js'
import { PROBE_WINDOW_MS, probeLimit, UsedNonces } from './probe-limit.js'
import { sealReport, valueDigest, type ReportedHeader } from './report.js'

/** A request whose marker is that of a subscription. */
export interface RecognisedProbe {
  readonly nonce: string
  readonly key: KeyObject
  readonly subscription: PreparedSubscription
}

interface ResponderSettings extends Tolerance {
  readonly subscriptions: SubscriptionLookup
  readonly dependencyTimeoutMs: number
  readonly clock: () => number
  readonly maxBodyBytes: number
  /** Records a probe where other processes see it. False if it was recorded before. */
  readonly remember: (nonce: string, sentAtMs: number) => MaybePending<boolean>
}

const MAX_REPORTED_HEADERS = 200

/** The schemes that a report may name. Another text may be a credential without a scheme. */
const SCHEMES = ['basic', 'bearer', 'digest', 'negotiate', 'hmac-sha256']

/**
 * Recognises the probes of `countersign doctor` among refused requests, and reports what arrived. Genuine callbacks are
 * never examined. A request without a marker costs a search for it and no HMAC.
 */
export class ProbeResponder {
  readonly #settings: ResponderSettings
  readonly #admits = probeLimit()
  readonly #used = new UsedNonces()
  /** By the key of the secret, which is the same object for the same text. */
  readonly #keys = new WeakMap<KeyObject, KeyObject>()

  constructor(settings: ResponderSettings) {
    this.#settings = settings
  }

  /** Undefined for every request that is not a probe, is not in time, or was answered before. Never rejects. */
  recognise(request: CallbackRequest): Promise<RecognisedProbe | undefined> | undefined {
    const markers = findMarkers(request.rawHeaders, request.body)
    if (markers.length === 0) return undefined
    const now = this.#settings.clock()
    // If the clock returns NaN, nothing is in time.
    const open = markers.filter(
      ({ nonce, sentAtMs }) => Math.abs(now - sentAtMs) <= PROBE_WINDOW_MS && !this.#used.has(nonce),
    )
    if (open.length === 0 || !this.#admits()) return undefined
    return this.#verify(open, request).catch(() => undefined)
  }

  /** The signed report, as the text of the answer. */
  report({ nonce, key }: RecognisedProbe, request: CallbackRequest, refusedFor: OutcomeCode): string {
    const { method, path, rawHeaders, httpVersion, addressFamily, body, arrivedAt } = request
    const { clock, maxBodyBytes, toleranceMs, futureToleranceMs } = this.#settings
    const valueOf = (name: string): string | undefined =>
      rawHeaders.find((_, index) => index % 2 === 1 && rawHeaders[index - 1]!.toLowerCase() === name)
    const report = {
      receivedAtMs: clock(),
      method,
      path,
      httpVersion,
      addressFamily,
      headers: reportedHeaders(rawHeaders, nonce, key),
      contentLength: valueOf('content-length'),
      isChunked: valueOf('transfer-encoding') !== undefined,
      body: body && { bytes: body.byteLength, sha256: hash('sha256', body, 'hex') },
      refusedFor,
      durationMs: Math.round(performance.now() - arrivedAt),
      maxBodyBytes,
      toleranceMs,
      futureToleranceMs,
    }
    return sealReport(report, nonce, key)
  }

  async #verify(
    markers: readonly ProbeMarker[],
    { headers, path }: CallbackRequest,
  ): Promise<RecognisedProbe | undefined> {
    const { subscriptions, dependencyTimeoutMs, clock } = this.#settings
    const found = Promise.resolve(subscriptions({ eventType: onlyValue(headers.eventType), path }))
    const candidates = await withTimeout(found, dependencyTimeoutMs, 'subscriptions()')
    for (const marker of markers) {
      const match = this.#match(marker, candidates)
      // A copy of the request may have been recognised while this one waited for the subscriptions.
      if (!match || this.#used.has(marker.nonce)) continue
      this.#used.add(marker.nonce, marker.sentAtMs, clock())
      return (await this.#isFirst(marker)) ? match : undefined
    }
    return undefined
  }

  /** An inbox or a store that fails is one of the faults for which doctor is run, so the probe is answered. */
  async #isFirst({ nonce, sentAtMs }: ProbeMarker): Promise<boolean> {
    const { remember, dependencyTimeoutMs } = this.#settings
    try {
      const remembering = Promise.resolve(remember(nonce, sentAtMs))
      return await withTimeout(remembering, dependencyTimeoutMs, 'the memory of probes')
    } catch {
      return true
    }
  }

  #match(marker: ProbeMarker, candidates: readonly PreparedSubscription[]): RecognisedProbe | undefined {
    for (const subscription of candidates) {
      for (const secret of subscription.keys) {
        const key = this.#keys.get(secret) ?? probeKey(secret)
        this.#keys.set(secret, key)
        if (isMarkerOf(marker, key)) return { nonce: marker.nonce, key, subscription }
      }
    }
    return undefined
  }
}

function reportedHeaders(rawHeaders: readonly string[], nonce: string, key: KeyObject): ReportedHeader[] {
  const headers: ReportedHeader[] = []
  for (let index = 0; index < rawHeaders.length && headers.length < MAX_REPORTED_HEADERS; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    const value = rawHeaders[index + 1]!
    const scheme = name === 'authorization' ? schemeOf(value) : undefined
    const digest = valueDigest(value, nonce, key)
    headers.push({ name, length: value.length, digest, ...(scheme !== undefined && { scheme }) })
  }
  return headers
}

function schemeOf(value: string): string | undefined {
  return SCHEMES.find((scheme) => scheme === value.split(' ', 1)[0]!.toLowerCase())
}
