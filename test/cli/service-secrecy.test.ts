import { randomUUID } from 'node:crypto'
import {
  CLIENT_SECRET,
  spellingsOf,
  startFakeService,
  withoutSecrets,
  type ServiceAnswer,
} from './fake-service.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const tokenAnswer = (token: string, expiresIn: unknown): ServiceAnswer => ({
  status: 200,
  body: JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: expiresIn }),
})
const COMMANDS = {
  'update-account': ['update-account', '4711', '--name', 'Rent'],
  subscribe: [
    'subscribe',
    '--event-type',
    'transfers.book-completed',
    '--callback-url',
    'https://partner.example.com/',
    '--secret-file',
    'a.secret',
    '--existing-secret',
  ],
  rotate: [
    'rotate',
    '--event-type',
    'transfers.book-completed',
    '--callback-url',
    'https://partner.example.com/',
    '--secret-file',
    'a.secret',
    '--existing-secret',
  ],
}
const SIGNING_SECRET = 'the-signing.secret~of.these-tests'
const ALL = Object.values(COMMANDS).flatMap((command) => [command, [...command, '--json']])

const signingSecretOf = ([command]: readonly string[]) =>
  command === 'update-account' ? [] : [SIGNING_SECRET]

const run = async (command: readonly string[], env: Record<string, string>, secret = SIGNING_SECRET) =>
  countersign(command, { cwd: await sandbox.directory({ 'a.secret': secret }), env })

const SOME = [COMMANDS.subscribe, [...COMMANDS['update-account'], '--json']]

describe.each([
  ['no lifetime', 0],
  ['a lifetime that is missing', undefined],
  ['a short lifetime', 1],
])('a token of %s', (_what, expiresIn) => {
  it.each(SOME)('that an answer repeats is not printed, nor is an earlier one: %s %s', async (...command) => {
    for (const status of [200, 400]) {
      const tokens: string[] = []
      const service = await startFakeService(
        sandbox,
        // The first is refused, so that another one is fetched, and the answer repeats both.
        (_request, count) =>
          count === 1
            ? { status: 401 }
            : { status, body: JSON.stringify({ tokens, more: tokens.flatMap(spellingsOf) }) },
        (count) => {
          tokens.push(`token-${count}-of.the~tests/0123456789==`)
          return tokenAnswer(tokens.at(-1)!, expiresIn)
        },
      )
      const ran = await run(command, service.env)
      expect(ran.code).toBe(status === 200 ? 0 : 1)
      expect(tokens).toHaveLength(2)
      withoutSecrets(ran, ...tokens)
    }
  })

  it.each(SOME)(
    'is not asked for once the answer is there, and nothing holds up the end: %s %s',
    async (...command) => {
      const service = await startFakeService(sandbox, undefined, (count) =>
        count === 1 ? tokenAnswer('token-0123456789', expiresIn) : 'hang',
      )
      const ran = await run([...command, '--timeout-ms', '600000'], service.env)
      expect(ran.code).toBe(0)
      expect(service.requests).toHaveLength(2)
    },
  )
})

it.each(ALL)('a client secret in any form and letter case is not printed: %s %s', async (...command) => {
  const secrets = [CLIENT_SECRET, ...signingSecretOf(command)]
  const repeated = secrets.flatMap(spellingsOf)
  const bodies = [
    JSON.stringify({ repeated, [repeated[1]!]: 1, text: repeated.join(' ') }),
    `<p>${repeated.join('<br>')}</p>`,
    JSON.stringify(repeated.join(',')),
  ]
  for (const body of bodies) {
    const service = await startFakeService(sandbox, () => ({ status: 400, body }))
    const ran = await run(command, service.env)
    expect(ran.code).toBe(1)
    withoutSecrets(ran, ...signingSecretOf(command))
  }
})

it.each(ALL)('a secret of a few characters is not printed: %s %s', async (...command) => {
  const body = JSON.stringify({
    q7: 'Q7 q7',
    text: 'it is q7x, and zZ9 or Zz9',
    number: 123454321,
    list: ['zz9'],
  })
  const service = await startFakeService(sandbox, () => ({ status: 400, body }))
  const env = { ...service.env, COUNTERSIGN_CLIENT_SECRET: 'Q7' }
  const ran = await run(command, env, 'Zz9')
  expect(ran.stdout + ran.stderr).toContain('400')
  expect(ran.stdout + ran.stderr).not.toMatch(/q7/i)
  if (command[0] !== 'update-account') expect(ran.stdout + ran.stderr).not.toMatch(/zz9/i)
  // A random key, which is printed, may have these digits in it.
  const key = command[0] === 'update-account' ? [] : ['--key', randomUUID().replaceAll('5', '6')]
  const digits = await run([...command, ...key], { ...service.env, COUNTERSIGN_CLIENT_SECRET: '5432' })
  expect(digits.stdout + digits.stderr).toContain('400')
  expect(digits.stdout + digits.stderr).not.toContain('5432')
})

it.each([[[]], [['--json']]])('a refused token request repeats no secret: %j', async (args) => {
  for (const clientSecret of ['Q7', 'abc', CLIENT_SECRET]) {
    const service = await startFakeService(sandbox, undefined, {
      status: 400,
      body: JSON.stringify({ error: spellingsOf(clientSecret) }),
    })
    const ran = await countersign(['token', ...args], {
      env: { ...service.env, COUNTERSIGN_CLIENT_SECRET: clientSecret },
    })
    expect(ran.code).toBe(1)
    expect((ran.stdout + ran.stderr).toLowerCase()).not.toContain(clientSecret.toLowerCase())
  }
})
