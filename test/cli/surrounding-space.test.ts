import { createReceiver } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { json, JSON_FILE, refusal, sandbox, type Env } from './check-config.js'
import { SUBSCRIPTION } from './configured.js'
import { countersign } from './program.js'

const CURE = 'with white space around it: leave out the white space.'
const URL = 'postgres://user:hidden-pass@127.0.0.1:1/db'
const LENGTH = URL.length + 1
const inDatabase = (connectionString: unknown) => json({ inbox: { postgres: { connectionString } } })

it.each<[string, Record<string, string>, string[], Env, string]>([
  [
    'the name of an inbox in a variable',
    json({}),
    [],
    { COUNTERSIGN_INBOX: 'x.db\n' },
    String.raw`COUNTERSIGN_INBOX: inbox is "x.db\n" ${CURE}`,
  ],
  [
    'the name of an inbox on the command line',
    json({}),
    ['--inbox', ' x.db'],
    {},
    `--inbox: inbox is " x.db" ${CURE}`,
  ],
  [
    'the name of an inbox in the configuration',
    json({ inbox: 'x.db ' }),
    [],
    {},
    `${JSON_FILE}: inbox is "x.db " ${CURE}`,
  ],
  [
    'as a field',
    json({ inbox: { file: '\tx.db' } }),
    [],
    {},
    String.raw`${JSON_FILE}: inbox: file is "\tx.db" ${CURE}`,
  ],
  [
    'a connection string with the space at its start',
    json({}),
    [],
    { COUNTERSIGN_INBOX: ` ${URL}` },
    `COUNTERSIGN_INBOX: inbox is a text of ${LENGTH} characters ${CURE}`,
  ],
  [
    'a connection string with the space at its end',
    json({}),
    [],
    { COUNTERSIGN_INBOX: `${URL}\n` },
    `COUNTERSIGN_INBOX: inbox is a text of ${LENGTH} characters ${CURE}`,
  ],
  [
    'a connection string in the configuration',
    inDatabase(`${URL} `),
    [],
    {},
    `${JSON_FILE}: inbox.postgres: connectionString is a text of ${LENGTH} characters ${CURE}`,
  ],
  [
    'a connection string in a variable that the configuration names',
    inDatabase({ env: 'DATABASE_URL' }),
    [],
    { DATABASE_URL: `${URL}\n` },
    `${JSON_FILE}: inbox.postgres.connectionString is a text of ${LENGTH} characters ${CURE}`,
  ],
  [
    'a schema',
    json({ inbox: { postgres: { connectionString: URL, schema: 'callbacks\n' } } }),
    [],
    {},
    String.raw`${JSON_FILE}: inbox.postgres: schema is "callbacks\n" ${CURE}`,
  ],
  [
    'the folder of captures',
    json({ capture: { folder: ' captured' } }),
    [],
    {},
    `${JSON_FILE}: capture.folder is " captured" ${CURE}`,
  ],
])('white space around it is refused: %s', async (_where, files, args, env, message) => {
  expect(await refusal(files, args, env)).toBe(`${message}\n`)
})

it.each<[string[], Env, string]>([
  [[], { COUNTERSIGN_INBOX: 'x.db\n' }, String.raw`COUNTERSIGN_INBOX: inbox is "x.db\n" ${CURE}`],
  [['--inbox', 'x.db '], {}, `--inbox: inbox is "x.db " ${CURE}`],
])('the commands of inbox refuse it as well: %j, %j', async (args, env, message) => {
  const cwd = await sandbox.directory({})
  const { code, stdout, stderr } = await countersign(['inbox', 'list', ...args], { cwd, env })
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `countersign: ${message}\n` })
})

it('a receiver refuses white space around its folder of captures', () => {
  const capture = { folder: 'captured\n' }
  expect(() => createReceiver({ subscriptions: [SUBSCRIPTION], inbox: new MemoryInbox(), capture })).toThrow(
    expect.objectContaining({
      option: 'capture',
      message: String.raw`createReceiver: capture.folder is "captured\n" ${CURE}`,
    }),
  )
})
