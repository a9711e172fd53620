import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { printable } from '../../base/printable.js'
import { callbackUrlProblem } from '../../signature/index.js'
import { unreadable } from '../bounded-read.js'
import { EXIT, printJson, UsageError, type DefineCommand, type Io } from '../io.js'
import { someText } from '../option-values.js'
import { fixtureOf, type Fixture } from './capture/fixture.js'
import { loadRewrite, rewritten } from './capture/rewrite.js'
import { scramblerOf } from './capture/scramble.js'

interface Flags {
  readonly out: string
  readonly rewrite?: string
  readonly callbackUrl: string
  readonly json?: true
}

interface Written {
  readonly fixtures: readonly string[]
  readonly skipped: readonly { readonly name: string; readonly reason: string }[]
}

const HELP = `
Makes fixtures of the requests that a receiver with the option "capture" has
written: pairs of files that can be committed, and that verify and replay send.
Bodies are scrambled: letters and digits become others, UUIDs and dates keep
their form, and keys, true, false and null are kept. The same value always
becomes the same one, also in other requests. --rewrite names a module whose
default export is given the payload and { eventType }, and returns what is
written.

Of the headers, the event type and the timestamp are kept. The idempotency key
is scrambled, and the callback URL is replaced. Each fixture is signed anew,
with a secret that is part of it. Look at the result before you commit it.

Exit codes:
  0  fixtures were written
  1  none of the requests could become a fixture
  2  wrong usage

Examples:
  $ countersign capture anonymise captured/ --out test/fixtures
  $ countersign capture anonymise captured/ --out test/fixtures \\
      --rewrite ./without-names.mjs`

export const defineCapture: DefineCommand = (command, io, finish) => {
  command.addHelpText('after', HELP)
  command
    .command('anonymise')
    .description('Make fixtures of captured requests.')
    .argument('<dir>', 'the folder of a capture')
    .requiredOption('--out <dir>', 'a new or empty folder for the fixtures', someText)
    .option('--rewrite <module>', 'a module that exports a function, in place of scrambling', someText)
    .option(
      '--callback-url <url>',
      'what the fixtures are sent to',
      'https://partner.example.com/hooks/callbacks',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (folder: string, flags: Flags) => {
      const written = await anonymise(resolve(io.cwd(), folder), flags, io)
      if (flags.json) printJson(io, written)
      else print(written, flags.out, io)
      finish(written.fixtures.length > 0 ? EXIT.done : EXIT.failed)
    })
}

async function anonymise(folder: string, flags: Flags, io: Io): Promise<Written> {
  const problem = callbackUrlProblem(flags.callbackUrl)
  if (problem !== undefined) throw new UsageError(`--callback-url: ${problem}`)
  const names = (await list(folder)).filter((name) => name.endsWith('.http')).sort()
  if (names.length === 0) throw new UsageError(`${folder} holds no NAME.http: name the folder of a capture`)
  const rewrite = flags.rewrite === undefined ? undefined : await loadRewrite(flags.rewrite, io)
  const out = resolve(io.cwd(), flags.out)
  await create(out)
  if ((await list(out)).length > 0) throw new UsageError(`--out: ${out} is not empty: name a new folder`)

  const scramble = scramblerOf(randomBytes(32).toString('hex'))
  const made: Fixture[] = []
  const skipped: { name: string; reason: string }[] = []
  // Nothing is written before all functions have succeeded, so that the command can be repeated.
  for (const name of names) {
    const bytes = await read(join(folder, name))
    if (!bytes) {
      skipped.push({ name, reason: 'it was removed meanwhile' })
      continue
    }
    const fixture = await fixtureOf(bytes, {
      callbackUrl: flags.callbackUrl,
      scramble,
      rewrite: rewrite && ((...parameters) => rewritten(rewrite, name, parameters)),
    })
    if (typeof fixture === 'string') skipped.push({ name, reason: fixture })
    else made.push(fixture)
  }
  return { fixtures: await write(made, out), skipped }
}

async function write(made: readonly Fixture[], out: string): Promise<string[]> {
  const expected = expectations()
  const fixtures: string[] = []
  for (const fixture of made) {
    const { http, subscription } = fixture
    const name = `callback-${String(fixtures.length + 1).padStart(4, '0')}`
    const sender = 'countersign capture anonymise'
    const description = { sender, subscription, expect: expected(fixture), note: '' }
    await writeFile(join(out, `${name}.http`), http, { flag: 'wx' })
    await writeFile(join(out, `${name}.json`), `${JSON.stringify(description, undefined, 2)}\n`, {
      flag: 'wx',
    })
    fixtures.push(name)
  }
  return fixtures
}

/** What a receiver without an inbox answers to the fixtures one after the other. */
function expectations(): (fixture: Fixture) => { status: number; outcome: string } {
  const bodies = new Map<string, string>()
  const keys = new Map<string, string>()
  return ({ idempotencyKey, subscription, body, signature }) => {
    // Each event type is a subscription of its own, and a receiver combines the key with the subscription.
    const key = `${idempotencyKey} ${subscription.eventTypeName}`
    const isConflict = (bodies.get(key) ?? body) !== body || (keys.get(signature) ?? key) !== key
    if (isConflict) return { status: 409, outcome: 'refused' }
    const outcome = bodies.has(key) ? 'duplicate' : 'handled'
    bodies.set(key, body)
    keys.set(signature, key)
    return { status: 200, outcome }
  }
}

async function list(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    throw unreadable(folder, error)
  }
}

/** Undefined if it does not exist: a receiver removes its oldest captures while it runs. */
async function read(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw unreadable(file, error)
  }
}

async function create(out: string): Promise<void> {
  try {
    await mkdir(out, { recursive: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`--out: cannot create ${out} (${code}): name a folder that you can write`)
  }
}

function print({ fixtures, skipped }: Written, out: string, io: Io): void {
  for (const { name, reason } of skipped) io.stdout.write(`${printable(name)}: skipped, ${reason}\n`)
  io.stdout.write(
    `${fixtures.length} ${fixtures.length === 1 ? 'fixture' : 'fixtures'} in ${printable(out)}\n`,
  )
}
