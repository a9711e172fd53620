import type { InboxState } from '../../src/inbox/states.js'
import { SqliteInbox } from '../../src/sqlite.js'
import { arrival } from '../support/arrivals.js'
import { openAside } from '../support/sqlite-file.js'
import { settle } from '../support/settle.js'
import { CLAIM, EVERY_STATE, fileOfVersion, ids, NOW, type OldRow, opened } from './old-files.js'

describe('a file of version 6 of the schema, which stored the state unhandled', () => {
  const fileOfVersion6 = (rows: readonly OldRow[]) => fileOfVersion(6, rows)

  const HANDLED = { eventTypes: ['another type'] }

  it('has stored entries in their place, which are due', async () => {
    const file = await fileOfVersion6([{ state: 'unhandled' }, { state: 'unhandled', attempts: 2 }])
    const inbox = opened(file)
    expect((await inbox.list({})).map(({ state, dueAt }) => [state, dueAt])).toEqual([
      ['stored', new Date(NOW)],
      ['stored', new Date(NOW)],
    ])
    expect(await inbox.stats()).toMatchObject({ stored: 2, unhandled: 0 })
    expect((await inbox.claim(CLAIM)).entries).toMatchObject([
      { id: '1', attempt: 1 },
      { id: '2', attempt: 3 },
    ])
  })

  it('shows them as unhandled again once a worker has asked for other types only', async () => {
    const inbox = opened(await fileOfVersion6([{ state: 'unhandled' }]))
    expect(await ids(inbox, HANDLED)).toEqual([])
    expect(await inbox.stats()).toMatchObject({ stored: 0, unhandled: 1 })
    expect(await ids(inbox)).toEqual(['1'])
  })

  it('gives entries that share an order key one after the other, oldest first', async () => {
    const file = await fileOfVersion6([
      { state: 'stored', order_key: 'a', due_at: NOW, ready: 1 },
      { state: 'unhandled', order_key: 'a' },
      { state: 'stored', order_key: 'a', due_at: NOW },
      { state: 'unhandled', order_key: 'b' },
      { state: 'unhandled', order_key: 'b' },
      { state: 'unhandled', order_key: 'c' },
      { state: 'running', order_key: 'c', due_at: NOW + 1_000, ready: 1, token: 1, attempts: 1 },
      { state: 'stored', order_key: 'c', due_at: NOW },
    ])
    const inbox = opened(file)
    const rounds: string[][] = []
    const running = [{ id: '7', token: 1 }]
    for (let round = 0; round < 4; round++) {
      const { entries } = await inbox.claim(CLAIM)
      rounds.push(entries.map(({ id }) => id))
      const ends = [...running.splice(0), ...entries].map(
        (claim) => ({ claim, end: { move: 'complete' } }) as const,
      )
      await inbox.settle(ends)
    }
    expect(rounds).toEqual([['1', '4'], ['2', '5', '6'], ['3', '8'], []])
  })
})

describe('a file of version 7 of the schema, which had neither attempts nor headers', () => {
  const STATES = ['stored', 'running', 'retrying', 'handled', 'dead', 'quarantined', 'discarded'] as const

  async function withEachState(): Promise<{ inbox: SqliteInbox; idOf: (state: InboxState) => string }> {
    const file = await fileOfVersion(
      7,
      STATES.map((state) => ({ state, ...EVERY_STATE[state] })),
    )
    const database = await openAside(file)
    database.exec(`INSERT INTO history (entry_id, at, action, person) VALUES (7, ${NOW}, 'discard', 'ann')`)
    database.exec(`UPDATE entries SET begun_by = token WHERE state = 'running'`)
    database.close()
    const idOf = (state: InboxState) => String(STATES.indexOf(state as (typeof STATES)[number]) + 1)
    return { inbox: opened(file), idOf }
  }

  it('keeps its entries, which have no attempts and no headers', async () => {
    const { inbox, idOf } = await withEachState()
    expect((await inbox.list({})).map(({ state }) => state)).toEqual(STATES)
    for (const state of STATES) {
      const entry = (await inbox.show(idOf(state)))!
      expect(entry).toMatchObject({ state, attemptHistory: [] })
      expect([entry.headers, entry.bodyId, entry.traceContext]).toEqual([undefined, undefined, undefined])
    }
    expect(await inbox.list({ bodyId: 'transfer 1' })).toEqual([])
  })

  it('keeps decisions, which cannot be taken back as the state before them is not known', async () => {
    const { inbox, idOf } = await withEachState()
    const id = idOf('discarded')
    expect((await inbox.show(id))!.history).toEqual([{ at: new Date(NOW), action: 'discard', by: 'ann' }])
    expect(await inbox.act(id, 'undo', 'bob')).toMatchObject({ done: false, code: 'state' })
    await inbox.act(idOf('dead'), 'retry', 'bob')
    expect(await inbox.act(idOf('dead'), 'undo', 'bob')).toEqual({ done: true })
  })

  it('records the attempts that begin from then on', async () => {
    const { inbox, idOf } = await withEachState()
    const claims = [
      ...(await inbox.claim(CLAIM)).entries,
      ...(await inbox.claim({ ...CLAIM, interrupted: true })).entries,
    ]
    await inbox.begin(claims, 1_000)
    for (const claim of claims) await settle(inbox, claim, { move: 'deadLetter', error: 'no' })
    const attempts = async (state: InboxState) =>
      (await inbox.show(idOf(state)))!.attemptHistory.map(({ number, result }) => [number, result])
    expect(await attempts('stored')).toEqual([[1, 'dead']])
    expect(await attempts('retrying')).toEqual([[2, 'dead']])
    expect(await attempts('running')).toEqual([[2, 'dead']])
  })

  it('finds what arrives from then on by the Id of its body', async () => {
    const { inbox } = await withEachState()
    const { id } = await inbox.add({ ...arrival({ signedAt: new Date(NOW) }), bodyId: 'transfer 1' })
    expect((await inbox.list({ bodyId: 'transfer 1' })).map((entry) => entry.id)).toEqual([id])
  })
})
