import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import { CountersignError } from '../base/errors.js'
import { isInstance, textProperty } from '../base/foreign-value.js'
import {
  complain,
  EXIT,
  guardedOutput,
  DEPENDENCY_FAILURES,
  UsageError,
  type DefineCommand,
  type ExitCode,
  type Io,
} from './io.js'

interface CommandEntry {
  readonly description: string
  readonly load: () => Promise<DefineCommand>
}

/**
 * The commands and their descriptions. The module of a command is loaded when the command is used, because loading
 * takes most of the start-up time.
 */
const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  serve: {
    description: 'Receive callbacks and hand them to your handlers.',
    load: async () => (await import('./commands/serve.js')).defineServe,
  },
  work: {
    description: 'Handle the callbacks that receivers have stored.',
    load: async () => (await import('./commands/work.js')).defineWork,
  },
  inbox: {
    description: 'Inspect what a receiver has stored, and retry, release or discard it.',
    load: async () => (await import('./commands/inbox.js')).defineInbox,
  },
  send: {
    description: 'Send signed callbacks to a receiver, correct ones or with a fault, or print one.',
    load: async () => (await import('./commands/send.js')).defineSend,
  },
  verify: {
    description: 'Say whether a recorded request is valid and, if not, why.',
    load: async () => (await import('./commands/verify.js')).defineVerify,
  },
  doctor: {
    description: 'Check the way from a public URL to the running receiver.',
    load: async () => (await import('./commands/doctor.js')).defineDoctor,
  },
  capture: {
    description: 'Make fixtures of the requests that a receiver has captured.',
    load: async () => (await import('./commands/capture.js')).defineCapture,
  },
  replay: {
    description: 'Send recorded requests byte for byte, and compare the answers with what is expected.',
    load: async () => (await import('./commands/replay.js')).defineReplay,
  },
  token: {
    description: 'Check the credentials: request an access token with them.',
    load: async () => (await import('./commands/token.js')).defineToken,
  },
  subscribe: {
    description: 'Subscribe a callback URL to an event type, with a new secret.',
    load: async () => (await import('./commands/subscribe.js')).defineSubscribe,
  },
  rotate: {
    description: 'Replace the secret of a subscription, or show which secrets are still used.',
    load: async () => (await import('./commands/rotate.js')).defineRotate,
  },
  'update-account': {
    description: 'Change the name of an account, or whether it can be searched for.',
    load: async () => (await import('./commands/update-account.js')).defineUpdateAccount,
  },
  simulate: {
    description: 'Simulate the service on this machine, to test clients and receivers.',
    load: async () => (await import('./commands/simulate.js')).defineSimulate,
  },
}

const EXIT_CODES = `
Exit codes:
  0  done
  1  failed: no answer, the service refused, or the address is in use
  2  wrong usage or configuration; the message says what to change
  3  another answer than expected, or the signature is not valid

A mistake on the command line is text on standard error, also with --json.
Standard output is then empty.

Examples:
  $ countersign serve --check                 check the configuration
  $ countersign serve                         receive callbacks
  $ countersign inbox stats                   count the callbacks by state
  $ countersign token --env .env              check the credentials
  $ countersign send http://127.0.0.1:3000/hooks/transfers \\
      --secret-file transfers.secret \\
      --callback-url https://partner.example.com/hooks/transfers

countersign <command> --help describes a command.`

/** The texts after the options are broken by hand. */
const HELP_WIDTH = 80

const MORE_OPEN_FILES =
  'this process may open too few files. Raise the limit to 1024 or more (LimitNOFILE in systemd, ulimit -n)'

/** Runs one command line, without the program's name, and resolves to its exit code. Never rejects. */
export async function main(argv: readonly string[], outer: Io): Promise<ExitCode> {
  const io: Io = {
    stdin: outer.stdin,
    stdout: guardedOutput(outer.stdout),
    stderr: guardedOutput(outer.stderr),
    env: outer.env,
    cwd: () => outer.cwd(),
  }
  let exitCode: ExitCode = EXIT.done
  const asksVersion = argv[0] === '-V' || argv[0] === '--version'
  // Subcommands inherit these settings, so they are set before the commands are created.
  const program = new Command('countersign')
    .description("Receives a banking service's signed callbacks, and sends signed callbacks for tests.")
    .version(
      asksVersion ? await versions() : '',
      '-V, --version',
      'print the versions of Countersign, Node and SQLite',
    )
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', EXIT_CODES)
    .showHelpAfterError('Add --help for all options.')
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(usageError(text)),
      getOutHelpWidth: () => Math.min(io.stdout.columns ?? HELP_WIDTH, HELP_WIDTH),
    })
    .exitOverride()
  try {
    for (const [name, { description, load }] of Object.entries(COMMANDS)) {
      const command = program.command(name).description(description)
      if (argv.includes(name)) (await load())(command, io, (code) => (exitCode = code))
    }
    await program.parseAsync(argv, { from: 'user' })
    return exitCode
  } catch (error) {
    // A configuration is a program, and may throw anything, such as a value that throws on `instanceof`.
    if (isInstance(error, CommanderError)) {
      if (error.code === 'commander.unknownOption' && argv[0]?.startsWith('-'))
        complain(io, 'options stand after the name of the command, as in countersign serve --check')
      return error.exitCode === 0 ? EXIT.done : EXIT.usage
    }
    const message = textProperty(error, 'message') ?? 'an unexpected error'
    const isOutOfFiles = textProperty(error, 'code') === 'EMFILE'
    complain(io, isOutOfFiles ? `${message}: ${MORE_OPEN_FILES}` : message)
    return isMistakeOfUser(error) ? EXIT.usage : EXIT.failed
  }
}

/**
 * An error of commander with the prefix of all others. The value of an option that does not exist may be a secret, as in
 * --secret=...
 */
function usageError(text: string): string {
  const message = text.replace(/^error: /, 'countersign: ')
  return message.replace(/^(countersign: unknown option '[^=']*=).*'/s, "$1…'")
}

function isMistakeOfUser(error: unknown): boolean {
  if (isInstance(error, CountersignError)) return !DEPENDENCY_FAILURES.has(error.code)
  return isInstance(error, UsageError)
}

async function versions(): Promise<string> {
  const manifest = readFileSync(join(__dirname, '../../package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  return `countersign ${version}\nNode ${process.versions.node}\nSQLite ${await sqliteVersion()}`
}

async function sqliteVersion(): Promise<string> {
  const { loadDriver } = await import('../inbox/sqlite/driver.js')
  try {
    const { name, DatabaseSync } = await loadDriver()
    const database = new DatabaseSync(':memory:')
    const found = database.prepare('SELECT sqlite_version() AS version').get() as { version: string }
    database.close()
    return `${found.version} (${name})`
  } catch (error) {
    return `not found: ${textProperty(error, 'message')}`
  }
}
