import { actOnMatching, previewMatching } from '../../src/inbox/act-on-matching.js'
import { MemoryInbox } from '../../src/inbox/memory-inbox.js'
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

describe('previewMatching', () => {
  it('gives the entries that match and whose state allows the action', async () => {
    const { inbox, ids } = await withDeadLetters(2)
    await inbox.add(arrival({ suspicion: 'stale' }))
    const preview = await previewMatching(inbox, {}, 'retry')
    expect(preview).toMatchObject({ entries: ids.map((id) => ({ id })), more: false })
    expect(await previewMatching(inbox, { states: ['quarantined'] }, 'retry')).toEqual({
      entries: [],
      more: false,
    })
  })

  it('never gives handled entries to retry', async () => {
    const inbox = new MemoryInbox()
    await inbox.add(arrival())
    const [claim] = (await inbox.claim(CLAIM)).entries
    await settle(inbox, claim!, { move: 'complete' })
    expect((await previewMatching(inbox, {}, 'retry')).entries).toEqual([])
    expect((await previewMatching(inbox, { states: ['handled', 'dead'] }, 'retry')).entries).toEqual([])
  })

  it('says that there are more than its limit', async () => {
    const { inbox, ids } = await withDeadLetters(3)
    const preview = await previewMatching(inbox, {}, 'discard', { limit: 2 })
    expect(preview.entries.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    expect(preview.more).toBe(true)
  })

  it('goes on where a search examined a part of the entries only', async () => {
    const { inbox, ids } = await withDeadLetters(3)
    const search = jest.spyOn(inbox, 'search')
    search.mockResolvedValueOnce({ entries: [], next: ids[0]! })
    const preview = await previewMatching(inbox, {}, 'discard')
    expect(preview.entries.map(({ id }) => id)).toEqual(ids.slice(1))
    expect(preview.more).toBe(false)
  })

  it('ends after a bounded number of searches', async () => {
    const { inbox, ids } = await withDeadLetters(1)
    const search = jest.spyOn(inbox, 'search').mockResolvedValue({ entries: [], next: ids[0]! })
    expect(await previewMatching(inbox, {}, 'discard')).toEqual({ entries: [], more: true })
    expect(search.mock.calls.length).toBeLessThan(100)
  })

  it.each([0, 1_001, 1.5])('refuses the limit %p', async (limit) => {
    const { inbox } = await withDeadLetters(0)
    await expect(previewMatching(inbox, {}, 'discard', { limit })).rejects.toMatchObject({
      code: 'ERR_OPTION_INVALID',
      option: 'limit',
    })
  })
})

describe('a wrong argument', () => {
  const operations = new MemoryInbox()

  it.each<[string, unknown[], string, string]>([
    [
      'no argument',
      [],
      'ERR_OPTION_INVALID',
      'operations is undefined: pass an object with the method search',
    ],
    ['no filter', [operations], 'ERR_OPTION_INVALID', 'filter: options is undefined: pass one object'],
    ['a list of states', [operations, ['dead']], 'ERR_OPTION_INVALID', 'filter: options is a list'],
    [
      'a misspelled filter',
      [operations, { state: ['dead'] }, 'discard'],
      'ERR_OPTION_UNKNOWN',
      'filter has no option "state".',
    ],
    [
      'a state in place of a list',
      [operations, { states: 'dead' }, 'discard'],
      'ERR_OPTION_INVALID',
      'previewMatching: states is "dead": pass a list of states',
    ],
    ['no action', [operations, {}], 'ERR_OPTION_INVALID', 'action is undefined: use retry, release, discard'],
    [
      'an unknown action',
      [operations, {}, 'toString'],
      'ERR_OPTION_INVALID',
      'action is "toString": use retry, release, discard, undo.',
    ],
  ])('is refused by previewMatching: %s', async (_what, given, code, message) => {
    const preview = previewMatching as (...given: unknown[]) => Promise<unknown>
    await expect(preview(...given)).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it.each<[string, unknown[], string]>([
    ['no argument', [], 'operations is undefined'],
    ['no entries', [operations], 'entries is undefined'],
    ['an unknown action', [operations, [], 'delete', 'ann'], 'action is "delete"'],
    ['null as options', [operations, [], 'discard', 'ann', null], 'options is null'],
  ])('is refused by actOnMatching: %s', async (_what, given, message) => {
    const act = actOnMatching as (...given: unknown[]) => Promise<unknown>
    await expect(act(...given)).rejects.toMatchObject({
      code: 'ERR_OPTION_INVALID',
      message: expect.stringContaining(message),
    })
  })
})

describe('actOnMatching', () => {
  it.each<[string, unknown, string]>([
    ['ids', ['1'], 'entries[0] is not an entry'],
    ['null among entries', [{ id: '1', state: 'dead', attempts: 1 }, null], 'entries[1] is not an entry'],
    ['a preview', { entries: [] }, 'entries is of type object'],
  ])('refuses %s in place of entries', async (_what, entries, problem) => {
    const { inbox } = await withDeadLetters(1)
    const act = jest.spyOn(inbox, 'act')
    await expect(actOnMatching(inbox, entries as never, 'discard', 'ann')).rejects.toMatchObject({
      code: 'ERR_OPTION_INVALID',
      option: 'entries',
      message: `actOnMatching: ${problem}: pass the entries of a preview.`,
    })
    expect(act).not.toHaveBeenCalled()
  })

  it('acts on what the preview found, and on nothing that matches since', async () => {
    const { inbox } = await withDeadLetters(10)
    const { entries } = await previewMatching(inbox, {}, 'discard')
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
    const all = await inbox.list({})
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
    const { entries } = await previewMatching(inbox, {}, 'discard')
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
    const { entries } = await previewMatching(inbox, { states: ['quarantined'] }, 'release')
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
    const { counts, failed } = await actOnMatching(inbox, await inbox.list({}), 'discard', 'ann')
    expect(counts.done).toBe(15)
    expect(failed).toEqual({ error: new Error('the disk is away'), remaining: [ids[9], ...ids.slice(16)] })
  })

  it('refuses a wrong reason, a wrong name and too many entries before it acts', async () => {
    const { inbox, ids } = await withDeadLetters(1)
    const [entry] = await inbox.list({})
    await expect(actOnMatching(inbox, [entry!], 'discard', 'ann', { reason: 'a\nb' })).rejects.toMatchObject({
      option: 'reason',
    })
    await expect(actOnMatching(inbox, [entry!], 'discard', 'a\nb')).rejects.toMatchObject({ option: 'by' })
    const many = Array.from({ length: 1_001 }, () => entry!)
    await expect(actOnMatching(inbox, many, 'discard', 'ann')).rejects.toMatchObject({ option: 'entries' })
    expect((await inbox.show(ids[0]!))?.state).toBe('dead')
  })
})
