import { CountersignError } from '../../base/errors.js'
import { hasConfig, loadValues } from '../config/config-values.js'
import { configuredSubscriptions } from '../config/config-subscriptions.js'
import {
  AFTER_PREPARE,
  checkSubscription,
  createOrPrepare,
  UNTIL_THEN,
  type NewSubscription,
} from '../service/create-subscription.js'
import { addEnvFileOption } from '../environment.js'
import { UsageError, type DefineCommand, type ExitCode, type Io } from '../io.js'
import {
  addKeptSecretOptions,
  commandWith,
  keepSecret,
  KEPT_SECRET_HELP,
  type KeptSecretFlags,
} from '../service/kept-secret.js'
import { someText, uuid } from '../option-values.js'
import {
  addServiceOptions,
  readServiceAccount,
  SERVICE_HELP,
  type ServiceFlags,
} from '../service/service-options.js'

interface SubscribeFlags extends ServiceFlags, KeptSecretFlags {
  readonly eventType: string
  readonly callbackUrl: string
  readonly description?: string
  readonly key?: string
}

const HELP = `
Creates a subscription and prints its entry for the configuration on standard
output, and everything else on standard error. File names in the entry are
relative to the folder of the configuration: run the command there.
${KEPT_SECRET_HELP}

If an answer is lost, the service may have created the subscription, whatever it
answers to a repeated request. The command then says that this is not known. It
prints where the secret is and the idempotency key: the same command with
--existing-secret and --key repeats the request unchanged.
${SERVICE_HELP}

Exit codes:
  0  created: the service answered 2xx
  1  not created, or not known whether it was created: the message says which
  2  wrong usage; nothing was sent, and the message says what to change

Examples:
  $ countersign subscribe --event-type transfers.book-completed \\
      --secret-file transfers.secret \\
      --callback-url https://partner.example.com/hooks/transfers --env .env
  $ countersign subscribe --event-type transfers.book-completed \\
      --secret-env TRANSFERS_SECRET \\
      --callback-url https://partner.example.com/hooks/transfers
  $ countersign subscribe --event-type transfers.book-completed \\
      --secret-file transfers.secret --existing-secret \\
      --callback-url https://partner.example.com/hooks/transfers \\
      --key 0b5bcbd6-...`

export const defineSubscribe: DefineCommand = (command, io, finish) => {
  command
    .requiredOption('--event-type <name>', 'eventTypeName', someText)
    .requiredOption('--callback-url <url>', 'where the service sends the callbacks')
    .option('--description <text>', 'free text')
    .option('--key <uuid>', 'X-Idempotency-Key (default: a new UUID)', uuid)
  addEnvFileOption(addServiceOptions(addKeptSecretOptions(command)))
    .addHelpText('after', HELP)
    .action(async (flags: SubscribeFlags) => finish(await subscribe(flags, io)))
}

async function subscribe(flags: SubscribeFlags, io: Io): Promise<ExitCode> {
  const { eventType: eventTypeName, callbackUrl, description, key: idempotencyKey } = flags
  checkSubscription(eventTypeName, callbackUrl)
  // Checked before a secret is written, so that wrong usage writes none.
  const account = flags.prepare ? undefined : await readServiceAccount(flags, io)
  const kept = await keepSecret(flags, io)
  const subscription = { eventTypeName, callbackUrl, description }
  const isConfigured = flags.existingSecret && (await hasSubscription(subscription, kept.secret, io))
  const configure = isConfigured
    ? 'The configuration already has this subscription. Check that the receiver runs with it.'
    : `Add this entry to the subscriptions of the configuration, check it with ${commandWith(kept, 'serve --check')}, and start the receiver with it.${account ? UNTIL_THEN : ''}`
  const report = {
    kept,
    entry: { ...subscription, secrets: [kept.reference] },
    isConfigured,
    next: account ? [configure] : [configure, AFTER_PREPARE],
    isRepeat: flags.existingSecret === true && idempotencyKey !== undefined,
    showSecret: flags.showSecret,
    json: flags.json,
  }
  return createOrPrepare(account, { ...subscription, idempotencyKey }, report, io)
}

/** Whether the configuration, if there is a readable one, has the subscription with this secret. */
async function hasSubscription(
  { eventTypeName, callbackUrl }: Pick<NewSubscription, 'eventTypeName' | 'callbackUrl'>,
  secret: string,
  io: Io,
): Promise<boolean> {
  try {
    if (!hasConfig({}, io)) return false
    const { file, values } = await loadValues({}, io)
    const configured = await configuredSubscriptions(values.subscriptions, file, io.env)
    return configured.some(
      (each) =>
        each.eventTypeName === eventTypeName &&
        each.callbackUrl === callbackUrl &&
        each.secrets.some((one) => one.secret === secret),
    )
  } catch (error) {
    if (error instanceof CountersignError || error instanceof UsageError) return false
    throw error
  }
}
