import { actOnMatching } from '../../src/inbox/act-on-matching.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { settle } from '../support/settle.js'

const CLAIM = { eventTypes: 'any', limit: 1, leaseMs: 1_000 } as const

async function withDeadLetters(count: number) {
  const inbox = new MemoryInbox()
  const ids = []
  for (let i = 0; i < count; i++) {
    ids.push((await inbox.add(arrival())).id)
    const [claim] = (await inbox.claim(CLAIM)).entries
    await settle(inbox, claim!, { move: 'deadLetter', error: `error ${i}` })
  }
  return { inbox, ids }
}

describe('actOnMatching', () => {
  it('acts on what the preview found, and on nothing that matches since', async () => {
    const { inbox } = await withDeadLetters(10)
    const { entries } = await inbox.list({})
    const { id: late } = await inbox.add(arrival())
    const result = await actOnMatching(inbox, entries, 'discard', 'ann', { reason: 'the account is closed' })
    expect(result.counts).toEqual({ done: 10, 'not-found': 0, changed: 0, state: 0, repeat: 0 })
    expect(result.results.map(({ id }) => id)).toEqual(entries.map(({ id }) => id))
    expect((await inbox.show(late))?.state).toBe('stored')
    expect((await inbox.show(entries[0]!.id))?.history).toMatchObject([
      { action: 'discard', by: 'ann', reason: 'the account is closed' },
    ])
  })

  it('counts the refusals by code, and handles nothing a second time', async () => {
    const { inbox, ids } = await withDeadLetters(2)
    await inbox.act(ids[1]!, 'discard', 'bob')
    const { id: handled } = await inbox.add(arrival())
    const [claim] = (await inbox.claim(CLAIM)).entries
    await settle(inbox, claim!, { move: 'complete' })
    const all = (await inbox.list({})).entries
    const missing = { ...all[0]!, id: '999' }
    const { counts, results } = await actOnMatching(inbox, [...all, missing], 'retry', 'ann')
    expect(counts).toEqual({ done: 1, 'not-found': 1, changed: 0, state: 1, repeat: 1 })
    expect(results[2]).toMatchObject({ id: handled, done: false, code: 'repeat' })
    expect((await inbox.show(handled))?.state).toBe('handled')
    const again = await actOnMatching(inbox, all.slice(2), 'retry', 'ann', { again: true })
    expect(again.counts.done).toBe(1)
  })

  it('does not act on an entry that has changed since the preview, though its state allows the action', async () => {
    const { inbox, ids } = await withDeadLetters(2)
    const { entries } = await inbox.list({})
    await inbox.act(ids[0]!, 'retry', 'bob')
    const { counts, results } = await actOnMatching(inbox, entries, 'discard', 'ann')
    expect(counts).toEqual({ done: 1, 'not-found': 0, changed: 1, state: 0, repeat: 0 })
    expect(results[0]).toMatchObject({ id: ids[0], code: 'changed' })
    expect((await inbox.show(ids[0]!))?.state).toBe('stored')
  })

  it('releases one of two repeats that both match', async () => {
    const inbox = new MemoryInbox()
    const suspect = arrival({ suspicion: 'stale' })
    await inbox.add(suspect)
    await inbox.add({ ...suspect, signature: arrival().signature })
    const { entries } = await inbox.list({ states: ['quarantined'] })
    expect((await actOnMatching(inbox, entries, 'release', 'ann')).counts).toMatchObject({
      done: 1,
      repeat: 1,
    })
  })

  it('ends when the inbox fails, and says what remains', async () => {
    const { inbox, ids } = await withDeadLetters(20)
    const act = inbox.act.bind(inbox)
    let calls = 0
    jest
      .spyOn(inbox, 'act')
      .mockImplementation((...given) =>
        ++calls === 10 ? Promise.reject(new Error('the disk is away')) : act(...given),
      )
    const { counts, failed } = await actOnMatching(inbox, (await inbox.list({})).entries, 'discard', 'ann')
    expect(counts.done).toBe(15)
    expect(failed).toEqual({ error: new Error('the disk is away'), remaining: [ids[9], ...ids.slice(16)] })
  })
})
