import { addEnvFileOption } from '../environment.js'
import { UsageError, type DefineCommand } from '../io.js'
import { callService, printResult } from '../service/service-call.js'
import {
  addServiceOptions,
  readServiceAccount,
  SERVICE_HELP,
  type ServiceFlags,
} from '../service/service-options.js'

interface UpdateAccountFlags extends ServiceFlags {
  readonly name?: string
  readonly searchable?: boolean
}

const HELP = `
Sends only the fields that are given. The service does not document its answer:
the command prints its status and body, and takes any 2xx for success.
${SERVICE_HELP}

Exit codes:
  0  the service answered 2xx
  1  the service gave another answer, refused the credentials, or did not answer
  2  wrong usage; the message says what to change

Examples:
  $ countersign update-account 4711 --name "Rent" --env .env
  $ countersign update-account 4711 --no-searchable --json`

export const defineUpdateAccount: DefineCommand = (command, io, finish) => {
  command
    .argument('<account-id>', 'the account')
    .option('--name <name>', 'its new name')
    .option('--searchable', 'it can be searched for')
    .option('--no-searchable', 'it cannot be searched for')
  addEnvFileOption(addServiceOptions(command))
    .addHelpText('after', HELP)
    .action(async (accountId: string, flags: UpdateAccountFlags) => {
      const { name, searchable } = flags
      if (name === undefined && searchable === undefined) {
        throw new UsageError('nothing to change: use --name, --searchable or --no-searchable')
      }
      const account = await readServiceAccount(flags, io)
      const change = { ...(name !== undefined && { name }), ...(searchable !== undefined && { searchable }) }
      const result = await callService(account, [], async (client) =>
        client.accounts.update(accountId, change),
      )
      finish(printResult(result, flags, io))
    })
}
