import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { median } from './statistics.mjs'

/** The memory that handled callbacks take in the default store. */
export function benchMemory({ quick }) {
  const keys = quick ? 200_000 : 1_000_000
  const measured = Array.from({ length: quick ? 1 : 3 }, () => measure(keys))
  const bytes = median(measured)
  return [
    {
      part: 'memory',
      what: `MemoryIdempotencyStore, ${keys.toLocaleString('en')} keys`,
      measured: `${(bytes / 1e6).toFixed(1)} MB`,
      value: bytes / keys,
      of: 'bytes per key',
      aim: { atMost: 65 },
    },
  ]
}

// In a process of its own, as the memory of this one is anybody's. The young generation is kept small, as it grows by
// tens of megabytes with what is thrown away, not with what is kept.
function measure(keys) {
  const file = fileURLToPath(new URL('memory/remember.mjs', import.meta.url))
  const flags = ['--expose-gc', '--max-semi-space-size=1']
  return JSON.parse(execFileSync(process.execPath, [...flags, file, keys], { encoding: 'utf8' }))
}
