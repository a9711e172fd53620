import { performance } from 'node:perf_hooks'
import { SpanStatusCode, type Span } from '@opentelemetry/api'
import { textProperty } from '../../base/foreign-value.js'
import { OUTCOMES, type Outcome, type OutcomeCode } from '../../callback/outcomes.js'
import type { AttemptResult } from '../../events/steps.js'
import { isFailure } from './conventions.js'

export function endReceive(span: Span, { code, name }: Pick<Outcome, 'code' | 'name'>): void {
  if (span.isRecording()) {
    span.setAttribute('countersign.outcome', name)
    span.setAttribute('countersign.code', code)
    if (isFailure(name)) fail(span, code)
  }
  // The start has the time of `performance.now()` too. Without this argument the SDK takes the time of day in whole milliseconds.
  span.end(performance.now())
}

export function endProcess(span: Span, { code, error }: AttemptResult): void {
  if (span.isRecording() && code !== undefined && code !== 'HANDLED') {
    fail(span, code)
    const type = textProperty(error, 'name')
    // The message of the error is left out, because it may contain data of the payload.
    if (type !== undefined) span.addEvent('exception', { 'exception.type': type.slice(0, 100) })
  }
  span.end()
}

export function endSettle(span: Span, code: OutcomeCode | '_OTHER' | undefined): void {
  if (code !== undefined) fail(span, code)
  span.end(performance.now())
}

function fail(span: Span, code: OutcomeCode | '_OTHER'): void {
  span.setAttribute('error.type', code)
  span.setStatus({
    code: SpanStatusCode.ERROR,
    message: code === '_OTHER' ? 'the end could not be recorded' : OUTCOMES[code].reason,
  })
}
