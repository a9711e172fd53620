import { requestAccessToken } from '../../client/access-token.js'
import { ClientError } from '../../client/index.js'
import { addEnvFileOption } from '../environment.js'
import { EXIT, printJson, type DefineCommand, type ExitCode, type Io } from '../io.js'
import { printable } from '../../base/printable.js'
import { outputMask, printResult, safeFailure } from '../service/service-call.js'
import {
  addServiceOptions,
  readServiceAccount,
  SERVICE_HELP,
  type ServiceFlags,
} from '../service/service-options.js'

interface TokenFlags extends ServiceFlags {
  readonly showToken?: true
}

const HELP = `
Checks the credentials by requesting an access token with them, and prints its
type and lifetime (expires_in). The token gives the same access as the
credentials until it expires, so it is printed only with --show-token.
${SERVICE_HELP}

Exit codes:
  0  the service issued a token
  1  the service refused the credentials, or did not answer
  2  wrong usage; the message says what to change

Examples:
  $ countersign token --env .env
  $ countersign token --base-url https://api.example.com --client-id 1d6c... \\
      --client-secret-file client.secret
  $ countersign token --json --show-token | jq -r .accessToken`

export const defineToken: DefineCommand = (command, io, finish) => {
  command.option('--show-token', 'print the token itself')
  addEnvFileOption(addServiceOptions(command))
    .addHelpText('after', HELP)
    .action(async (flags: TokenFlags) => finish(await token(flags, io)))
}

async function token(flags: TokenFlags, io: Io): Promise<ExitCode> {
  const account = await readServiceAccount(flags, io)
  try {
    const { accessToken, tokenType, expiresIn } = await requestAccessToken(account)
    const shown = flags.showToken ? { accessToken } : {}
    if (flags.json) printJson(io, { tokenType, expiresIn: expiresIn ?? null, ...shown })
    else {
      const lifetime =
        expiresIn === undefined ? 'whose lifetime is not known' : `that expires in ${expiresIn} s`
      io.stdout.write(`the credentials are right: a ${printable(tokenType)} token ${lifetime}\n`)
      if (flags.showToken) io.stdout.write(`${printable(accessToken)}\n`)
    }
    return EXIT.done
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    return printResult(safeFailure(error, outputMask([account.clientSecret])), flags, io)
  }
}
