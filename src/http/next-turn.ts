// Taken when this is loaded: a test that fakes the timers is not to stop every callback.
const defer = setImmediate

let turn: Promise<void> | undefined

/**
 * Resolves when the event loop has read all that has arrived, at the same moment for everyone who waits. What is done
 * for the callbacks of one turn is then done step by step for all of them, while its code and data are in the
 * processor's caches; one after the other, each finds them emptied by the system calls of the last, and takes twice as
 * long.
 */
export function nextTurn(): Promise<void> {
  return (turn ??= new Promise((resolve) => {
    defer(() => {
      turn = undefined
      resolve()
    })
  }))
}
