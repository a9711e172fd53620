import { callbackUrlProblem } from '../../signature/index.js'
import { signedCallback } from '../../testing/signed-callback.js'
import { addBodyOptions, readBody, readStdin, type BodyFlags } from '../body-option.js'
import { EXIT, printJson, UsageError, type DefineCommand } from '../io.js'
import { eventTypeHeader, headerValue } from '../option-values.js'
import { addSecretOptions, readSecret, SECRET_HELP, type SecretFlags } from '../secret-option.js'

interface SignFlags extends SecretFlags, BodyFlags {
  readonly url: string
  readonly eventType: string
  readonly key?: string
  readonly timestamp?: string
  readonly json?: true
}

const HELP = `
Prints one header per line. The body is that of --body or --body-file, or else what standard input holds. Its exact
bytes are signed, including a line end at its end: send the same bytes.
${SECRET_HELP}

Exit codes:
  0  signed
  2  wrong usage; the message says what to change

Examples:
  $ countersign sign --url https://partner.example.com/hooks/transfers --secret-file secret.txt --body-file body.json \\
      | curl -H @- --data-binary @body.json http://127.0.0.1:3000/hooks/transfers
  $ printf '{"Id":"..."}' | COUNTERSIGN_SECRET=... countersign sign --url https://partner.example.com/hooks --json`

export const defineSign: DefineCommand = (command, io, finish) => {
  command
    .requiredOption('--url <callback-url>', 'the callback URL exactly as it was subscribed')
    .option('--event-type <type>', 'X-Event-Type', eventTypeHeader, 'transfers.book-completed')
    .option('--key <uuid>', 'X-Idempotency-Key (default: a new UUID)', headerValue)
    .option('--timestamp <http-date>', 'Authorization-Timestamp (default: now)', headerValue)
    .option('--json', 'print an object instead of lines')
    .addHelpText('after', HELP)
  addBodyOptions(addSecretOptions(command)).action(async (flags: SignFlags) => {
    const problem = callbackUrlProblem(flags.url)
    if (problem) throw new UsageError(`--url: ${problem}`)
    const { headers } = signedCallback({
      subscription: {
        eventTypeName: flags.eventType,
        callbackUrl: flags.url,
        secret: await readSecret(flags, io),
      },
      body: (await readBody(flags, io)) ?? (await readStdin(io)),
      idempotencyKey: flags.key,
      timestamp: flags.timestamp,
    })
    if (flags.json) printJson(io, headers)
    else
      io.stdout.write(
        Object.entries(headers)
          .map(([name, value]) => `${name}: ${value}\n`)
          .join(''),
      )
    finish(EXIT.done)
  })
}
