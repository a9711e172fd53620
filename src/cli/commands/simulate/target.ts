import { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { deliveryTarget, loopbackTarget } from '../../../simulator/delivery-target.js'
import type { RawTarget } from '../../../testing/raw-request.js'

const PROBE_MS = 100

/** The parser of --deliver-to. @throws CountersignError ERR_OPTION_INVALID */
export function deliverToOrigin(text: string): string {
  deliveryTarget('--deliver-to', text)
  return text
}

/**
 * Waits until a server listens there, at most for the limit: a user may create a subscription first and then start
 * the receiver.
 */
export async function untilListening(url: string, limitMs: number, signal: AbortSignal): Promise<void> {
  const target = loopbackTarget(new URL(url))
  if (!target) return
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)])
  while (!limit.aborted && !(await listens(target))) {
    await delay(PROBE_MS, undefined, { signal: limit }).catch(() => {})
  }
  signal.throwIfAborted()
}

function listens({ host, port }: RawTarget): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = new Socket()
    const end = (connected: boolean) => {
      socket.destroy()
      resolve(connected)
    }
    socket.on('error', () => end(false)).connect({ host: host!, port }, () => end(true))
  })
}
