/** Callbacks are smaller: they have a few hundred bytes. */
const SMALL_BODY_BYTES = 16_384

/** A body that is still being read. It is a node of a list: to look for the first key of a `Map` takes longer with each deleted one. */
export class ArrivingBody {
  heldBytes = 0
  /** Increases with each call of `hold()` for any body. */
  lastHold = 0
  previous: ArrivingBody = this
  next: ArrivingBody = this

  /** `giveWay` refuses the body, and releases its memory at once. */
  constructor(readonly giveWay: () => void) {}
}

/** Unfinished bodies of about the same size. */
interface SizeClass {
  heldBytes: number
  /** Not a body. The one that has needed no memory for longest is next to it. */
  readonly end: ArrivingBody
}

/** The size of each class is twice that of the one before; the first one is for bodies below 2 KiB. */
const CLASSES = 32
const SMALLEST_CLASS_BYTES = 1_024

/**
 * Limits the memory of the bodies of all requests together, from the first byte until the request is answered. It
 * counts allocated memory and not the declared length, because declaring a length costs the sender nothing.
 *
 * A quarter is reserved for small bodies, so that large complete ones, which wait for their answers, do not keep callbacks out.
 *
 * If there is no room for a body, unfinished bodies give way. Otherwise unauthenticated senders could keep genuine callbacks out
 * with bodies that lack one byte, for `bodyTimeoutMs`, again and again. A body needs memory each time it has doubled, so the one
 * that has needed none for longest has made the least progress for its age. A sender of a few bytes now and then makes none.
 *
 * A small genuine body may wait for its second packet while an attacker sends large bodies quickly. Therefore bodies are compared
 * with those of a class only if that class has a considerable part of the memory: many small bodies take many connections.
 */
export class BodyMemory {
  readonly #maxBytes: number
  #heldBytes = 0
  /** What unfinished bodies hold. */
  #arrivingBytes = 0
  #holds = 0
  readonly #classes: readonly SizeClass[] = Array.from({ length: CLASSES }, () => ({
    heldBytes: 0,
    end: new ArrivingBody(() => {}),
  }))

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /**
   * Reserves `bytes` for a body that then has `bodyBytes` in all. Returns false if there is no room even if all unfinished bodies
   * gave way. `arriving` is given for an unfinished body. It may have to give way until `arrived()` is called.
   */
  hold(bytes: number, bodyBytes: number, arriving?: ArrivingBody): boolean {
    const limit = bodyBytes <= SMALL_BODY_BYTES ? this.#maxBytes : this.#maxBytes * 0.75
    // It must not give way to itself.
    if (arriving) this.arrived(arriving)
    if (this.#heldBytes - this.#arrivingBytes + bytes > limit) return false
    while (this.#heldBytes + bytes > limit) this.#leastProgress()!.giveWay()
    this.#heldBytes += bytes
    if (arriving) this.#add(arriving, arriving.heldBytes + bytes)
    return true
  }

  /** From now on the body does not give way. What it holds is still reserved. Safe to call twice. */
  arrived(body: ArrivingBody): void {
    if (body.next === body) return
    body.previous.next = body.next
    body.next.previous = body.previous
    body.previous = body.next = body
    this.#classOf(body.heldBytes).heldBytes -= body.heldBytes
    this.#arrivingBytes -= body.heldBytes
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes
  }

  #add(body: ArrivingBody, heldBytes: number): void {
    const sizeClass = this.#classOf(heldBytes)
    const { end } = sizeClass
    body.heldBytes = heldBytes
    body.lastHold = this.#holds++
    body.next = end
    body.previous = end.previous
    end.previous.next = body
    end.previous = body
    sizeClass.heldBytes += heldBytes
    this.#arrivingBytes += heldBytes
  }

  #classOf(heldBytes: number): SizeClass {
    const doublings = Math.floor(Math.log2(heldBytes / SMALLEST_CLASS_BYTES))
    return this.#classes[Math.min(Math.max(doublings, 0), CLASSES - 1)]!
  }

  #leastProgress(): ArrivingBody | undefined {
    let least: ArrivingBody | undefined
    for (const { heldBytes, end } of this.#classes) {
      // One class at least has so much, because there are as many classes as parts.
      if (heldBytes === 0 || heldBytes * CLASSES < this.#arrivingBytes) continue
      if (!least || end.next.lastHold < least.lastHold) least = end.next
    }
    return least
  }
}
