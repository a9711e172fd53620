import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { CountersignError } from '../base/errors.js'
import { isInstance, textProperty } from '../base/foreign-value.js'
import { SignatureInputError } from '../signature/index.js'
import { RecordedRequestError } from '../testing/recorded-requests.js'
import { defineInbox } from './commands/inbox.js'
import { defineReplay } from './commands/replay.js'
import { defineRotate } from './commands/rotate.js'
import { defineSend } from './commands/send.js'
import { defineServe } from './commands/serve.js'
import { defineSign } from './commands/sign.js'
import { defineSimulate } from './commands/simulate.js'
import { defineSubscribe } from './commands/subscribe.js'
import { defineToken } from './commands/token.js'
import { defineUpdateAccount } from './commands/update-account.js'
import { defineVerify } from './commands/verify.js'
import { complain, EXIT, UsageError, type ExitCode, type Io } from './io.js'
import { guardedOutput } from './terminal.js'

const COMMANDS = [
  defineServe,
  defineInbox,
  defineSend,
  defineSign,
  defineVerify,
  defineReplay,
  defineToken,
  defineSubscribe,
  defineRotate,
  defineUpdateAccount,
  defineSimulate,
]

const EXIT_CODES = `
Exit codes:
  0  done
  1  failed: nobody answered, the service refused, or the address is taken
  2  wrong usage or configuration; the message says what to change
  3  the answer was not as expected, or the signature is not valid

Examples:
  $ countersign serve --check                 is the configuration right?
  $ countersign serve                         receive callbacks
  $ countersign inbox stats                   what has become of them?
  $ countersign token --env .env         are the service's credentials right?
  $ COUNTERSIGN_SECRET=... countersign send http://127.0.0.1:3000/hooks/transfers \\
      --callback-url https://partner.example.com/hooks/transfers

countersign <command> --help says more about each command.`

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
  // Subcommands inherit these settings, so they are made before the commands are.
  const program = new Command('countersign')
    .description("Receives a banking service's signed callbacks, and makes some to try a receiver with.")
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', EXIT_CODES)
    .showHelpAfterError('Add --help for what is possible.')
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => io.stdout.columns ?? 110,
    })
    .exitOverride()
  for (const define of COMMANDS) define(program, io, (code) => (exitCode = code))

  try {
    await program.parseAsync(argv, { from: 'user' })
    return exitCode
  } catch (error) {
    // A configuration is a program, and may throw anything, such as a value that throws on `instanceof`.
    // Commander has printed the message of its own errors already.
    if (isInstance(error, CommanderError)) return error.exitCode === 0 ? EXIT.done : EXIT.usage
    complain(io, textProperty(error, 'message') ?? 'an unexpected error')
    return isForTheUserToMend(error) ? EXIT.usage : EXIT.failed
  }
}

function isForTheUserToMend(error: unknown): boolean {
  if (isInstance(error, CountersignError)) return error.code !== 'ERR_LISTEN_FAILED'
  return [UsageError, SignatureInputError, RecordedRequestError].some((known) => isInstance(error, known))
}

function version(): string {
  const require = createRequire(import.meta.url)
  return (require('../../../package.json') as { version: string }).version
}
