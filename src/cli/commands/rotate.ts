import { Option } from 'commander'
import { hasConfig, loadValues, type ConfigValues } from '../config/config-values.js'
import { configuredSubscriptions, type ConfiguredSubscription } from '../config/config-subscriptions.js'
import { loadEnvFile } from '../environment.js'
import { addInboxOptions } from '../inboxes/find-inbox.js'
import { UsageError, type DefineCommand, type Io } from '../io.js'
import { addKeptSecretOptions, KEPT_SECRET_HELP } from '../service/kept-secret.js'
import { someText, uuid } from '../option-values.js'
import { addServiceOptions, SERVICE_HELP } from '../service/service-options.js'
import { rotate, type RotateFlags } from './rotate/rotate.js'
import { status } from './rotate/status.js'

interface Flags extends RotateFlags {
  readonly status?: true
}

const HELP = `
Replaces the secret of a subscription without losing a callback: a new
subscription for the same event type and callback URL is created with a secret
of its own, and the receiver knows both secrets until the old one is no longer
used. The subscription is that of the configuration; where it has several,
--event-type and --callback-url say which, and --subscription where these are
the same. Without a configuration event type and URL are the subscription.

1. Keep a new secret, and print the entry with both secrets:
  $ countersign rotate --secret-file new.secret --prepare
2. Put the entry into the configuration, and start the receiver with it.
3. Create the subscription:
  $ countersign rotate --secret-file new.secret --existing-secret
4. See when each secret was last used. When the old one is no longer used,
   remove it from the entry:
  $ countersign rotate --status

How the service ends the old subscription is not documented. While both exist it
may send each event twice, under two idempotency keys.

--status reads the inbox, beside its receiver and without the service. A secret
is named as the configuration names it; the fingerprint is its name in the
metrics and in the console.

An application with a receiver of its own has no configuration. Steps 1 and 3
then need --event-type and --callback-url. Pass both secrets to createReceiver,
as a list. For --status write countersign.config.json with the subscriptions
and the inbox of the application.
${KEPT_SECRET_HELP}
${SERVICE_HELP}

Exit codes:
  0  created: the service answered 2xx; with --status or --prepare: done
  1  it was not created, or it is not known whether it was; or the inbox cannot
     be read
  2  wrong usage; nothing was sent, and the message says what to change

Examples:
  $ countersign rotate --secret-file transfers-2.secret --env .env
  $ countersign rotate --event-type transfers.book-completed \\
      --secret-env TRANSFERS_SECRET_2
  $ countersign rotate --status --json`

/** The options that only a new secret or its subscription has. */
const OF_NEW_SECRET = [
  'secretFile',
  'secretEnv',
  'existingSecret',
  'prepare',
  'showSecret',
  'description',
  'key',
]

export const defineRotate: DefineCommand = (command, io, finish) => {
  command
    .addOption(
      new Option(
        '--status',
        'say when each secret of the configuration was last used, and do nothing',
      ).conflicts(OF_NEW_SECRET),
    )
    .option('--event-type <name>', 'of the subscription with this eventTypeName', someText)
    .option('--callback-url <url>', 'of the subscription with this callbackUrl')
    .option(
      '--subscription <id>',
      'of the subscription with this id, where several share type and URL',
      someText,
    )
    .option('--description <text>', "free text (default: the entry's)")
    .option('--key <uuid>', 'X-Idempotency-Key (default: a new UUID)', uuid)
  addServiceOptions(addInboxOptions(addKeptSecretOptions(command)))
    .addHelpText('after', HELP)
    .action(async (flags: Flags) => {
      await loadEnvFile(flags.env, io)
      const config = hasConfig(flags, io) ? await loadValues({ config: flags.config }, io) : undefined
      const chosen = await choose(flags, config, io)
      finish(flags.status ? await status(chosen, flags, io) : await rotate(chosen, config, flags, io))
    })
}

/** The subscriptions of the configuration that the options select. */
async function choose(
  { eventType, callbackUrl, subscription }: Flags,
  config: ConfigValues | undefined,
  io: Io,
): Promise<ConfiguredSubscription[]> {
  if (!config) return []
  const all = await configuredSubscriptions(config.values.subscriptions, config.file, io.env)
  const chosen = all.filter(
    (each) =>
      (eventType ?? each.eventTypeName) === each.eventTypeName &&
      (callbackUrl ?? each.callbackUrl) === each.callbackUrl &&
      (subscription ?? each.id) === each.id,
  )
  if (chosen.length > 0) return chosen
  throw new UsageError(
    `${config.file.name} has no such subscription: check --event-type, --callback-url and --subscription`,
  )
}
