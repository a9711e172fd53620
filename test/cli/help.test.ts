import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configModule } from './configured.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const COMMANDS =
  'serve work inbox send verify doctor capture replay token subscribe rotate update-account simulate'.split(
    ' ',
  )
const INBOX_COMMANDS = 'stats list show retry release discard undo prune copy migrate'.split(' ')

describe('--help', () => {
  it.each([[], ...COMMANDS.map((command) => [command]), ['inbox', 'prune']])(
    'says what is possible, with examples and exit codes: %s',
    async (...command) => {
      const { code, stdout, stderr } = await countersign([...command, '--help'])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      for (const part of ['Usage: countersign', 'Options:', 'Exit codes:', 'Examples:\n  $ ']) {
        expect(stdout).toContain(part)
      }
      expect(stdout).not.toContain('(default: [])')
    },
  )

  it.each([
    ...COMMANDS.map((command) => [command]),
    ...INBOX_COMMANDS.map((command) => ['inbox', command]),
    ['capture', 'anonymise'],
    [],
  ])(
    'fits into 80 columns, as terminals break wider text in the middle of a word: %s %s',
    async (...command) => {
      const { stdout } = await countersign([...command, '--help'])
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    },
  )

  it.each(['token', 'subscribe', 'rotate', 'update-account'])(
    'of %s names the variables',
    async (command) => {
      const { stdout } = await countersign([command, '--help'])
      for (const name of ['BASE_URL', 'CLIENT_ID', 'CLIENT_SECRET']) {
        expect(stdout).toContain(`COUNTERSIGN_${name}`)
      }
      expect(stdout).not.toMatch(/--client-secret[ <]/)
    },
  )

  it.each(['send', 'verify', 'doctor', 'token', 'subscribe', 'rotate', 'update-account'])(
    'of %s says why no option takes a secret',
    async (command) => {
      const { stdout } = await countersign([command, '--help'])
      expect(stdout).toMatch(/every user of the machine can see the\s+command line/)
      expect(stdout).not.toMatch(/--secret[ <]/)
    },
  )

  it.each(['show', 'retry', 'release', 'discard', 'undo'])(
    'of inbox %s has the exit code of an entry that does not exist',
    async (subcommand) => {
      const { stdout } = await countersign(['inbox', subcommand, '--help'])
      expect(stdout).toMatch(/^ {2}3 {2}there is no such entry/m)
    },
  )

  it.each(['serve', 'work'])(
    'of %s has the exit code of an inbox that cannot be reached',
    async (command) => {
      const cwd = await sandbox.directory({ 'countersign.config.mjs': configModule('', 'inbox: undefined') })
      const env = { COUNTERSIGN_INBOX: 'postgres://127.0.0.1:1/none' }
      const { code, stderr } = await countersign([command], { cwd, env })
      expect(stderr).toContain('cannot be reached')
      const { stdout } = await countersign([command, '--help'])
      expect(stdout).toMatch(new RegExp(`^  ${code}  .*the inbox cannot be reached`, 'm'))
    },
  )

  it.each(['stats', 'list', 'prune', 'migrate'])(
    'of inbox %s has no exit code for single entries',
    async (subcommand) => {
      const { stdout } = await countersign(['inbox', subcommand, '--help'])
      expect(stdout).not.toMatch(/^ {2}3 {2}/m)
    },
  )
})

it('says what an option does without a value, once', async () => {
  const { stdout } = await countersign(['send', '--help'])
  expect(stdout).toMatch(/--late \[ms\] [^-]*number 48\s+hours$/m)
  expect(stdout).not.toContain('preset')
})

it('says what all subcommands of inbox have in common once, in the help of inbox', async () => {
  const common = 'The commands work on the file while the receiver runs'
  expect((await countersign(['inbox', '--help'])).stdout).toContain(common)
  const { stdout } = await countersign(['inbox', 'list', '--help'])
  expect(stdout).not.toContain(common)
  expect(stdout).toContain('countersign inbox --help')
  expect(stdout).not.toMatch(/\$ countersign inbox (?!list)/)
})

it('--version prints the versions of the package, of Node and of its SQLite', async () => {
  const { version } = JSON.parse(await readFile(join(__dirname, '../../package.json'), 'utf8')) as {
    version: string
  }
  for (const option of ['--version', '-V'])
    expect(await countersign([option])).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        new RegExp(
          `^countersign ${version}\\nNode ${process.versions.node}\\nSQLite 3\\.\\d+\\.\\d+ \\(\\S+sqlite\\)\\n$`,
        ),
      ),
      stderr: '',
    })
})

it.each([
  [[]],
  [['no-such-command']],
  [['serve', 'extra']],
  [['serve', '--json']],
  [['inbox', 'list', '--json', '--no-such']],
  [['verify', '--json']],
])('wrong usage ends with 2 and says so on standard error: %j', async (args) => {
  const { code, stdout, stderr } = await countersign(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).not.toBe('')
})

it('says where options stand when one stands before the command', async () => {
  const { code, stderr } = await countersign(['--env', '.env', 'serve'])
  expect(code).toBe(2)
  expect(stderr).toContain('options stand after the name of the command')
  expect((await countersign(['serve', '--no-such'])).stderr).not.toContain('options stand after')
})

it.each([
  ['an unknown command', ['sreve']],
  ['an unknown option', ['send', '--sceret']],
  ['an option without its value', ['send', '--callback-url']],
  ['a value that an option refuses', ['doctor', 'https://a.example', '--timeout-ms', 'x']],
  ['an argument that is missing', ['doctor']],
  ['an argument too many', ['inbox', 'stats', 'all']],
  ['options that exclude each other', ['doctor', 'https://a.example', '--ask', '--secret-env', 'A']],
  ['a configuration that is missing', ['serve', '--config', 'none.json']],
])('the error for %s begins with the name of the program', async (_, args) => {
  const { code, stdout, stderr } = await countersign(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^countersign: (?!error)/)
})
