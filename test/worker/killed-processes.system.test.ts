import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rowIdOf } from '../../src/inbox/sqlite/row-id.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { arrival, type ArrivalOptions } from '../support/arrivals.js'
import { startProgram } from '../support/built-program.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { openAside, temporaryDirectory } from '../support/sqlite-file.js'
import { LIMIT_MS } from '../support/until.js'

const CONCURRENCY = 10

/**
 * A receiver whose handler kills the process for every body that says so, and writes down each beginning and end. Handlers
 * that run beside such a one do not end before it kills them.
 */
const RECEIVER = `
  const ledger = process.argv[3]
  const record = (line) => fs.appendFileSync(ledger, JSON.stringify(line) + '\\n')
  const inbox = new SqliteInbox({ file })
  const receiver = createReceiver({
    subscriptions: [subscription],
    inbox,
    concurrency: ${CONCURRENCY},
    maxAttempts: Number(process.argv[4]),
    // Longer than a busy machine keeps a process waiting. The test ends the leases of a process that has been killed.
    leaseMs: 50_000,
    handlerTimeoutMs: 45_000,
    pollMs: 20,
  })
  let isDoomed = false
  receiver.onAny(async ({ payload: { entry, kills } }, { attempt }) => {
    record({ entry, attempt, pid: process.pid })
    isDoomed ||= kills
    // What was claimed together begins in one turn of the event loop.
    await nextTick()
    if (kills) process.kill(process.pid, 'SIGKILL')
    if (isDoomed) await new Promise(() => {})
    record({ entry, ended: true })
  })
  const isIdle = async () => {
    const { stored, running, retrying } = (await inbox.stats()).counts
    return stored + running + retrying === 0
  }
  await receiver.start()
  while (!(await isIdle())) await delay(20)
  await receiver.stop()
`

/** Of these entries, and of those whose handlers have not begun: a process that lives gives them up at their begin. */
const END_LEASES = `
  UPDATE entries SET due_at = due_set_at
  WHERE state = 'running' AND (begun_by <> token OR id IN (SELECT value FROM json_each(?)))`

interface Line {
  readonly entry: number
  readonly attempt?: number
  readonly pid?: number
  readonly ended?: boolean
}

type Survival = Awaited<ReturnType<typeof survive>>

/** Stores these entries, and starts receivers anew whenever one is killed, until nothing is left to do. */
async function survive(
  given: readonly (ArrivalOptions & { kills?: boolean })[],
  { maxAttempts = 3, processes = 1 } = {},
) {
  const directory = temporaryDirectory()
  const [file, ledger] = [join(directory, 'callbacks.db'), join(directory, 'ledger')]
  writeFileSync(ledger, '')
  const program = buildInboxProgram(directory, RECEIVER)
  const inbox = new SqliteInbox({ file })
  const ids: string[] = []
  for (const [entry, { kills = false, ...options }] of given.entries())
    ids.push((await inbox.add(arrival({ ...options, body: JSON.stringify({ entry, kills }) }))).id)

  const read = () => {
    const lines = readFileSync(ledger, 'utf8').split('\n').filter(Boolean)
    return lines.map((line) => JSON.parse(line) as Line)
  }
  const endLeases = async (pid: number | undefined) => {
    const begun = read().filter((line) => line.pid === pid)
    const rows = begun.map(({ entry }) => rowIdOf(ids[entry]!))
    const database = await openAside(file)
    database.exec(`PRAGMA busy_timeout = ${LIMIT_MS}`)
    database.prepare(END_LEASES).run(JSON.stringify(rows))
    database.close()
  }
  let deaths = 0
  const keepAlive = async () => {
    for (;;) {
      const { child, ended } = startProgram(process.execPath, [program, file, ledger, String(maxAttempts)])
      await ended
      if (child.signalCode === null) return
      deaths++
      await endLeases(child.pid)
    }
  }
  await Promise.all(Array.from({ length: processes }, keepAlive))

  const runs = read()
  const entries = await Promise.all(ids.map((id) => inbox.show(id)))
  await inbox.close()
  return {
    deaths,
    states: entries.map((entry) => entry!.state),
    attempts: entries.map((entry) => entry!.attempts),
    /** The attempts that handlers were told, by entry. */
    begun: given.map((_, entry) =>
      runs.filter((run) => run.entry === entry && !run.ended).map(({ attempt }) => attempt),
    ),
    endOrder: runs.filter(({ ended }) => ended).map(({ entry }) => entry),
  }
}

const entries = (count: number, poisonous: readonly number[], options: ArrivalOptions = {}) =>
  Array.from({ length: count }, (_, entry) => ({ ...options, kills: poisonous.includes(entry) }))

const expectedStates = (count: number, poisonous: readonly number[]) =>
  Array.from({ length: count }, (_, entry) => (poisonous.includes(entry) ? 'dead' : 'handled'))

const TOGETHER = [
  ['one of ten that are claimed together', [4], { maxAttempts: 3 }],
  ['two of them', [0, 7], { maxAttempts: 2 }],
  ['one of them, beside a second process', [9], { maxAttempts: 2, processes: 2 }],
] as const

describe('a handler that kills its process', () => {
  const ordered = entries(24, [2]).map((entry, index) => ({
    ...entry,
    ...(index < 12 && { orderKey: `account ${index % 3}` }),
  }))
  let together: Survival[]
  let inOrder: Survival

  beforeAll(async () => {
    const runs = TOGETHER.map(([, poisonous, options]) => survive(entries(10, poisonous), options))
    ;[inOrder, ...together] = await Promise.all([survive(ordered, { maxAttempts: 3 }), ...runs])
  }, 120_000)

  it.each(TOGETHER.map((row, index) => [...row, index] as const))(
    'makes a dead letter of its own entry and of no other: %s',
    (_what, poisonous, options, index) => {
      const { states, attempts, begun, deaths } = together[index]!
      expect(states).toEqual(expectedStates(10, poisonous))
      // One attempt is one beginning.
      expect(begun.map(({ length }) => length)).toEqual(attempts)
      for (const each of begun) expect(each).toEqual(each.map((_, attempt) => attempt + 1))
      for (const entry of poisonous) expect(attempts[entry]).toBe(options.maxAttempts)
      // At first they die together. After that each takes nothing with it.
      const others = attempts.filter((_, entry) => states[entry] === 'handled')
      expect(Math.max(...others)).toBeLessThanOrEqual(2)
      expect(deaths).toBe(poisonous.length * (options.maxAttempts - 1) + 1)
    },
  )

  it('does not hold up what arrives while it is tried again, nor the order of keys', () => {
    const { states, endOrder } = inOrder
    expect(states).toEqual(expectedStates(24, [2]))
    for (const account of [0, 1, 2]) {
      const order = endOrder.filter((entry) => entry < 12 && entry % 3 === account)
      expect(order).toEqual(order.toSorted((a, b) => a - b))
    }
    // Those behind the poisonous one of its key are handled once that one has been given up.
    expect(endOrder.at(-1)).toBe(11)
  })
})
