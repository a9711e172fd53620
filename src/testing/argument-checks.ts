import { property } from '../base/foreign-value.js'
import {
  checkKnownOptions,
  durationOption,
  integerOption,
  invalidOption,
  kindOf,
} from '../base/option-checks.js'

/** @throws CountersignError ERR_OPTION_INVALID */
export function checkPath(owner: string, name: string, value: unknown, cure: string): void {
  if (typeof value !== 'string') throw invalidOption(owner, name, value, cure, kindOf(value))
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function checkBytes(owner: string, value: unknown): void {
  // A signed callback has its bytes only once it is written as HTTP.
  const cure = 'pass bytes, such as those of callback.toHttp()'
  if (!ArrayBuffer.isView(value)) throw invalidOption(owner, 'bytes', value, cure, kindOf(value))
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function checkRecorded(owner: string, recorded: unknown, field: 'bytes' | 'subscription'): void {
  if (typeof property(recorded, field) === 'object') return
  const cure = 'pass what loadRecordedRequest resolves to'
  throw invalidOption(owner, 'recorded', recorded, cure, kindOf(recorded))
}

/** The arguments of `sendRawRequest`. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function checkExchange(owner: string, bytes: unknown, target: unknown, options: unknown): void {
  for (const piece of Array.isArray(bytes) ? (bytes as unknown[]) : [bytes]) checkBytes(owner, piece)
  if (typeof target !== 'object' || target === null)
    throw invalidOption(owner, 'target', target, 'pass an object with a port', kindOf(target))
  const { host = '', port } = target as { host?: unknown; port?: number }
  if (typeof host !== 'string') throw invalidOption(owner, 'host', host, 'pass the name or address of a host')
  integerOption(owner, 'port', port, { fallback: -1, min: 1, max: 65_535 })
  checkKnownOptions(owner, options, ['timeoutMs', 'signal'])
  const { timeoutMs, signal } = options as { timeoutMs?: number; signal?: unknown }
  durationOption(owner, 'timeoutMs', timeoutMs, 1)
  checkSignal(owner, signal)
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function checkSignal(owner: string, signal: unknown): void {
  if (signal !== undefined && typeof property(signal, 'throwIfAborted') !== 'function')
    throw invalidOption(owner, 'signal', signal, 'pass the signal of an AbortController')
}
