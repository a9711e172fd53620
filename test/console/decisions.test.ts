import { createReceiver } from '../../src/index.js'
import type { DecidedEvent } from '../../src/events/lifecycle-events.js'
import type { ClaimEnd } from '../../src/inbox/engine.js'
import { subscription } from '../support/subscription.js'
import { ADA, BOB, browse, hiddenFields, runConsole, textOf } from './browse.js'
import { seededInbox } from './seeded-inbox.js'

const DEAD = { move: 'deadLetter', error: 'the ledger did not answer', code: 'ERR_HANDLER_FAILED' } as const
const SUSPECT = { suspicion: 'it was signed long ago' }

async function decidable() {
  const seeded = seededInbox()
  const { inbox, clock, add } = seeded
  const id = await add(DEAD)
  const base = await runConsole({ inbox, clock })
  const browsing = browse(base)
  const fields = hiddenFields(await browsing.get(`entry?id=${id}`))
  return { ...seeded, id, fields, ...browsing, path: `entry?id=${id}` }
}

const actionsOn = (text: string) =>
  [...text.matchAll(/name="action" value="(\w+)"/g)].map(([, action]) => action)

describe('a decision on one entry', () => {
  it('is offered where the state allows it, and to those who may decide', async () => {
    const { inbox, add } = seededInbox()
    const offered = async (id: string, operator = ADA) => {
      const { get } = browse(await runConsole({ inbox, operator: () => operator }))
      return actionsOn((await get(`entry?id=${id}`)).text)
    }
    expect(await offered(await add(DEAD))).toEqual(['retry', 'discard'])
    expect(await offered(await add('stored', SUSPECT))).toEqual(['release', 'discard'])
    expect(await offered(await add())).toEqual(['retry'])
    expect(await offered(await add('running'))).toEqual([])
    expect(await offered(await add(DEAD), BOB)).toEqual([])
  })

  it('is confirmed on the page that the answer leads to, to the operator who decided', async () => {
    const { get, post, path, fields, base, inbox, id } = await decidable()
    const done = (await post(path, { ...fields, action: 'discard' })).headers.get('Location')!
    const confirmation = 'Your decision “discard” was recorded on 2026-11-03 09:14:27 UTC'
    for (let loads = 0; loads < 2; loads++) expect(textOf(await get(done))).toContain(confirmation)
    expect(textOf(await get(path))).not.toContain('was recorded')
    await inbox.act(id, 'undo', 'bob')
    expect(textOf(await get(done))).toContain(confirmation)
    for (const other of ['0', '2', '3', '-1', '1.5', 'length', ''])
      expect(textOf(await browse(base).get(`${path}&done=${other}`))).not.toContain('was recorded')
  })

  it('is followed by the page: its state, its attempts and the decisions', async () => {
    const { get, inbox, path, id } = await decidable()
    const liveHref = / id="live" hx-get="([^"]+)"/.exec((await get(path)).text)![1]!.replaceAll('&amp;', '&')
    expect(textOf(await get(liveHref))).not.toContain('The entry has changed.')
    await inbox.act(id, 'retry', 'bob')
    const { entries } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
    await inbox.begin(entries, 60_000)
    await inbox.settle(entries.map((claim) => ({ claim, end: { ...DEAD, error: 'it failed again' } })))
    const { text } = await get(liveHref)
    expect(text).toContain('The entry has changed.')
    expect(text).toMatch(/id="entry-head".*class="state dead".*it failed again/s)
    expect([...text.matchAll(/<td class="number">(\d)<\/td><td><time/g)].map(([, number]) => number)).toEqual(
      ['2', '1'],
    )
    expect(text).not.toContain('<form')
    expect((await get('live/entry?id=none')).status).toBe(404)
  })

  it('can be taken back until a worker claims the entry', async () => {
    const { get, post, path, fields, inbox, id } = await decidable()
    await post(path, { ...fields, action: 'discard' })
    const page = await get(path)
    expect(actionsOn(page.text)).toEqual(['undo'])
    expect((await post(path, { ...hiddenFields(page), action: 'undo', reason: 'a mistake' })).status).toBe(
      303,
    )
    expect((await inbox.show(id))!.state).toBe('dead')
    const again = await get(path)
    expect(textOf(again)).toMatch(/undo ada@example\.com a mistake .*discard ada@example\.com/)
    expect(actionsOn(again.text)).toEqual(['retry', 'discard'])
  })

  it.each<[string, ClaimEnd]>([
    ['dead', DEAD],
    ['retrying', { move: 'reschedule', delayMs: 60_000, error: 'the ledger did not answer' }],
  ])(
    'is not offered to be taken back once a worker has claimed the entry, which is %s now',
    async (_, end) => {
      const { get, path, inbox, id } = await decidable()
      await inbox.act(id, 'retry', 'bob')
      expect(actionsOn((await get(path)).text)).toEqual(['discard', 'undo'])
      const { entries } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
      await inbox.begin(entries, 60_000)
      await inbox.settle(entries.map((claim) => ({ claim, end })))
      expect(await inbox.act(id, 'undo', 'bob')).toMatchObject({ done: false })
      expect(actionsOn((await get(path)).text)).toEqual(['retry', 'discard'])
    },
  )

  it('is not carried out when another operator has decided since the page was opened', async () => {
    const { post, path, fields, inbox, id, base } = await decidable()
    const other = browse(base)
    const theirs = hiddenFields(await other.get(path))
    expect((await post(path, { ...fields, action: 'retry' })).status).toBe(303)
    const late = await other.post(path, { ...theirs, action: 'discard', reason: 'too old' })
    expect(late.status).toBe(409)
    expect(textOf(late)).toContain(
      'Nothing was done: the entry has changed since you opened it. The latest decision is “retry” by ada@example.com.',
    )
    expect(late.text).toContain('name="reason" value="too old"')
    expect((await inbox.show(id))!.history).toHaveLength(1)
  })

  it('is not carried out when the entry was retried and has died again since the page was opened', async () => {
    const { post, path, fields, inbox, id } = await decidable()
    await inbox.act(id, 'retry', 'bob')
    const { entries } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
    await inbox.begin(entries, 60_000)
    await inbox.settle(entries.map((claim) => ({ claim, end: DEAD })))
    const late = await post(path, { ...fields, action: 'discard' })
    expect({ status: late.status, text: textOf(late) }).toEqual({
      status: 409,
      text: expect.stringContaining('the entry has changed since you opened it'),
    })
    expect((await inbox.show(id))!.state).toBe('dead')
  })

  it('is carried out once of ten that are sent at the same time', async () => {
    const { post, path, fields, inbox, id } = await decidable()
    const sent = Array.from({ length: 10 }, () => post(path, { ...fields, action: 'retry' }))
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 303)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(9)
    expect((await inbox.show(id))!.history).toHaveLength(1)
  })

  it('handles a callback a second time only when that is chosen', async () => {
    const { inbox, add } = seededInbox()
    const id = await add()
    const { get, post } = browse(await runConsole({ inbox }))
    const page = await get(`entry?id=${id}`)
    const fields = { ...hiddenFields(page), action: 'retry' }
    expect(page.text).toContain('name="again"')
    const refused = await post(`entry?id=${id}`, fields)
    expect([refused.status, (await inbox.show(id))!.state]).toEqual([409, 'handled'])
    expect(textOf(refused)).toContain(
      'Nothing was done: entry 1 was handled; retry would handle it a second time.',
    )
    expect((await post(`entry?id=${id}`, { ...fields, again: 'yes' })).status).toBe(303)
    expect((await inbox.show(id))!.state).toBe('stored')
  })

  it('takes a reason of 500 characters, and no longer one or one with a line feed', async () => {
    const { post, path, fields, inbox, id } = await decidable()
    for (const reason of ['x'.repeat(501), 'a\nb']) {
      const refused = await post(path, { ...fields, action: 'retry', reason })
      expect([refused.status, (await inbox.show(id))!.history]).toEqual([400, []])
    }
    expect((await post(path, { ...fields, action: 'retry', reason: 'x'.repeat(500) })).status).toBe(303)
  })

  it('needs a reason if the option says so', async () => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD)
    const { get, post } = browse(await runConsole({ inbox, reasons: 'required' }))
    const page = await get(`entry?id=${id}`)
    expect(page.text).toMatch(/name="reason"[^>]* required/)
    const fields = { ...hiddenFields(page), action: 'retry' }
    expect((await post(`entry?id=${id}`, { ...fields, reason: '  ' })).status).toBe(400)
    expect((await post(`entry?id=${id}`, { ...fields, reason: 'it is back' })).status).toBe(303)
  })

  it.each(['', 'prune', 'constructor'])('%p is none', async (action) => {
    const { post, path, fields, inbox, id } = await decidable()
    expect((await post(path, { ...fields, action })).status).toBe(400)
    expect((await inbox.show(id))!.history).toEqual([])
  })

  it('is published by the receiver whose console it is', async () => {
    const { inbox, add } = seededInbox()
    const id = await add(DEAD)
    const receiver = createReceiver({ subscriptions: [subscription], inbox, logger: false })
    const told: DecidedEvent[] = []
    receiver.events.on('decided', (event) => told.push(event))
    await receiver.start()
    const { get, post } = browse(await runConsole({ receiver }))
    const fields = hiddenFields(await get(`entry?id=${id}`))
    await post(`entry?id=${id}`, { ...fields, action: 'discard', reason: 'a test' })
    await receiver.stop()
    expect(told).toEqual([{ entryId: id, action: 'discard', by: 'ada@example.com', reason: 'a test' }])
  })
})
