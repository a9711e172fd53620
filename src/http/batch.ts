// Not the globals: a test that fakes the timers, be it before this is loaded, is not to stop every callback.
import { setImmediate } from 'node:timers'

const defer = setImmediate

/**
 * How many share a turn. All of them have claimed their keys before the first of their handlers begins, and none is
 * answered before the last has begun: more would add up what their handlers compute.
 */
const SEATS = 32

let turn: Promise<void> | undefined
let seats = 0

/**
 * Resolves when the event loop has read what has arrived, at the same moment for the few who share it. What is done for
 * the callbacks of one turn is then done step by step for all of them, while its code and data are in the processor's
 * caches; one after the other, each finds them emptied by the system calls of the last, and takes twice as long.
 */
export function nextTurn(): Promise<void> {
  if (!turn || seats === 0) turn = begin()
  seats--
  return turn
}

function begin(): Promise<void> {
  seats = SEATS
  const begun = new Promise<void>((resolve) => {
    defer(() => {
      if (turn === begun) turn = undefined
      resolve()
    })
  })
  return begun
}
