import { MemoryInbox } from '../support/whole-inbox.js'
import { PostgresInbox } from '../support/whole-inbox.js'
import { SqliteInbox } from '../support/whole-inbox.js'

const REFUSED_BEFORE_A_CONNECTION = 'postgres://127.0.0.1:1/none'

const INBOXES = [
  ['MemoryInbox', () => new MemoryInbox()],
  ['SqliteInbox', () => new SqliteInbox({ file: '/no-such-folder/callbacks.db', logger: false })],
  [
    'PostgresInbox',
    () => new PostgresInbox({ connectionString: REFUSED_BEFORE_A_CONNECTION, logger: false }),
  ],
] as const

const SEEN = { state: 'dead', attempts: 1 }

/** A method with its arguments, the option that is wrong, and what the message has about it. */
type Case = readonly [method: string, given: readonly unknown[], option: string, message: string]

const INVALID: readonly Case[] = [
  ['list', [], 'filter', 'filter: options is undefined: pass one object'],
  ['list', [null], 'filter', 'filter: options is null'],
  ['list', ['dead'], 'filter', 'filter: options is of type string'],
  ['list', [{ states: 'dead' }], 'states', 'states is "dead": pass a list of states, which are stored, '],
  ['list', [{ states: ['dead', 'deda'] }], 'states', 'states[1] is "deda": pass a list of states'],
  ['list', [{ eventType: 7 }], 'eventType', 'eventType is 7: pass a text.'],
  [
    'list',
    [{ before: '2026-11-03' }],
    'before',
    'before is "2026-11-03": use a date, or milliseconds since 1970',
  ],
  [
    'list',
    [{ before: new Date(NaN) }],
    'before',
    'before is of type object: use a date, or milliseconds since 1970',
  ],
  ['list', [{ after: NaN }], 'after', 'after is NaN: use a date, or milliseconds since 1970'],
  ['list', [{}, null], 'page', 'page: options is null'],
  ['list', [{}, { limit: '10' }], 'limit', 'limit is "10": use a whole number from 0 to'],
  ['list', [{}, { limit: null }], 'limit', 'limit is null: use a whole number'],
  ['list', [{}, { afterId: 17 }], 'afterId', 'afterId is 17: pass the id of an entry, which is a text.'],
  ['list', [{}, { newestFirst: 'no' }], 'newestFirst', 'newestFirst is "no": use true or false.'],
  ['list', [{}, { limit: -1 }], 'limit', 'limit is -1: use a whole number'],
  ['count', [undefined, 10], 'filter', 'filter: options is undefined'],
  ['count', [{}], 'max', 'max is undefined: use a whole number'],
  ['show', [], 'id', 'id is undefined: pass the id of an entry, which is a text.'],
  ['show', [17], 'id', 'id is 17: pass the id of an entry, which is a text.'],
  ['related', [17], 'id', 'id is 17'],
  ['activity', [], 'request', 'request: options is undefined'],
  ['prune', [], 'request', 'request: options is undefined'],
  ['prune', [{ state: 'dead', limit: 1 }], 'state', 'state is "dead": use handled or discarded.'],
  ['prune', [{ state: 'handled' }], 'limit', 'limit is undefined: use a whole number'],
  ['prune', [{ state: 'handled', limit: 1, olderThanMs: '1d' }], 'olderThanMs', 'olderThanMs is "1d"'],
  ['prune', [{ state: 'handled', limit: 1, dryRun: 'yes' }], 'dryRun', 'dryRun is "yes": use true or false'],
  ['act', [17, 'retry', 'ann'], 'id', 'id is 17'],
  ['act', ['1', 'delete', 'ann'], 'action', 'action is "delete": use retry, release, discard, undo.'],
  ['act', ['1', 'retry'], 'by', 'by is of type undefined'],
  ['act', ['1', 'retry', 'ann', null], 'options', 'options is null'],
  ['act', ['1', 'retry', 'ann', { again: 'false' }], 'again', 'again is "false": use true or false.'],
  ['act', ['1', 'retry', 'ann', { expected: '1' }], 'expected', 'expected is of type string: pass an entry'],
  [
    'act',
    ['1', 'retry', 'ann', { expected: { ...SEEN, finishedAt: '2026-11-03T09:14:27.000Z' } }],
    'expected',
    'expected is of type object: pass an entry as list or show return it',
  ],
]

const UNKNOWN: readonly Case[] = [
  ['list', [{ state: ['dead'] }], 'filter', 'filter has no option "state". Its options are states, '],
  ['list', [{}, { size: 10 }], 'page', 'page has no option "size". Its options are afterId, limit, '],
  ['count', [{ type: 'a' }, 1], 'filter', 'filter has no option "type"'],
  ['activity', [{ from: 0, to: 1, bucket: 1 }], 'request', 'request has no option "bucket"'],
  ['prune', [{ state: 'handled', limit: 1, dryrun: true }], 'request', 'Did you mean "dryRun"?'],
  ['act', ['1', 'retry', 'ann', { because: 'why' }], 'because', 'has no option "because"'],
]

const CASES = [
  ...INVALID.map((each) => [...each, 'ERR_OPTION_INVALID'] as const),
  ...UNKNOWN.map((each) => [...each, 'ERR_OPTION_UNKNOWN'] as const),
]

describe.each(INBOXES)('a wrong argument of a %s', (_name, create) => {
  it.each(CASES)('is refused with its name: %s(%j)', async (method, given, option, message, code) => {
    const inbox = create() as unknown as Record<string, (...given: readonly unknown[]) => Promise<unknown>>
    const rejected: unknown = await inbox[method]!(...given).catch((error: unknown) => error)
    expect(rejected).toMatchObject({
      code,
      option,
      owner: `inbox.${method}`,
      message: expect.stringContaining(message),
    })
  })
})
