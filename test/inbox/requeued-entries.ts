import type { WholeInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { settle } from '../support/settle.js'

interface Subject {
  readonly inbox: WholeInbox
  readonly advance: (ms: number) => Promise<void> | void
}

type CreateSubject = () => Promise<Subject> | Subject

const MINUTE = 60_000
const ask = (eventType: string) => ({ eventTypes: [eventType], limit: 10, leaseMs: MINUTE })

/** A worker without the handler, which is busy. Twice, because PostgresInbox learns the time of its database from its own calls. */
async function poll(inbox: WholeInbox, eventType = 'b'): Promise<void> {
  for (let polls = 0; polls < 2; polls++) await inbox.claim({ ...ask(eventType), limit: 0 })
}

/** So long that a type that no worker asks for has no handler any more. */
export async function pollForLong({ inbox, advance }: Subject, eventType?: string): Promise<void> {
  for (let polls = 0; polls < 2; polls++) {
    await advance(4 * MINUTE)
    await poll(inbox, eventType)
  }
}

/** The first of two entries of an order runs, and its worker is killed. Another worker polls. */
export async function interrupted(create: CreateSubject, leaseMs = MINUTE) {
  const { inbox, advance } = await create()
  await poll(inbox)
  const { id } = await inbox.add(arrival({ type: 'a', orderKey: 'account 1' }))
  const { id: next } = await inbox.add(arrival({ type: 'b', orderKey: 'account 1' }))
  const [claim] = (await inbox.claim({ ...ask('a'), leaseMs })).entries
  await inbox.begin([claim!], leaseMs)
  return { inbox, advance, id, next, claim: claim! }
}

/** Registers tests of entries that were running when the last worker with a handler for their type was killed. */
export function registerRequeuing(create: CreateSubject): void {
  it('shows it as unhandled once its type counts as handled no more, and lets an operator discard it', async () => {
    const { inbox, advance, id, next, claim } = await interrupted(create)
    for (const [minutes, running] of [
      [4, 1],
      [2, 0],
    ] as const) {
      await advance(minutes * MINUTE)
      await poll(inbox)
      expect(await inbox.stats()).toMatchObject({ counts: { running, unhandled: 1 - running } })
    }
    expect(await inbox.show(id)).toMatchObject({
      state: 'unhandled',
      attemptHistory: [{ number: 1, result: 'interrupted' }],
    })
    expect(await settle(inbox, claim, { move: 'complete' })).toBe(false)
    expect((await inbox.claim(ask('b'))).entries).toEqual([])
    expect(await inbox.act(id, 'discard', 'ann')).toEqual({ done: true })
    expect((await inbox.claim(ask('b'))).entries).toMatchObject([{ id: next }])
  })

  it('gives it as interrupted to a worker that has a handler for its type again', async () => {
    const { inbox, advance, id } = await interrupted(create)
    await pollForLong({ inbox, advance })
    expect(await inbox.claim(ask('a'))).toMatchObject({ entries: [], interruptedIsDue: true })
    const { entries } = await inbox.claim({ ...ask('a'), interrupted: true })
    expect(entries).toMatchObject([{ id, attempt: 2 }])
  })

  it('gives an older entry of its order before it', async () => {
    const { inbox, advance, id, next } = await interrupted(create)
    await pollForLong({ inbox, advance })
    expect(await inbox.act(id, 'discard', 'ann')).toEqual({ done: true })
    const [claim] = (await inbox.claim(ask('b'))).entries
    await inbox.begin([claim!], MINUTE)
    expect(await inbox.act(id, 'undo', 'ann')).toEqual({ done: true })
    await pollForLong({ inbox, advance }, 'c')
    expect(await inbox.show(next)).toMatchObject({ state: 'unhandled' })
    expect((await inbox.claim({ ...ask('a'), interrupted: true })).entries).toMatchObject([{ id }])
  })

  it('leaves it running until its lease has ended', async () => {
    const { inbox, advance, claim } = await interrupted(create, 10 * MINUTE)
    await pollForLong({ inbox, advance })
    expect(await inbox.stats()).toMatchObject({ counts: { running: 1, unhandled: 0 } })
    expect(await settle(inbox, claim, { move: 'complete' })).toBe(true)
  })

  it('leaves it to a worker that still runs, when the clock was set ahead', async () => {
    const { inbox, advance, claim } = await interrupted(create)
    await advance(600 * MINUTE)
    await poll(inbox)
    expect(await settle(inbox, claim, { move: 'complete' })).toBe(true)
  })
}
