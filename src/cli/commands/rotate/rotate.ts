import { dirname, relative, resolve, sep } from 'node:path'
import { withoutQuery } from '../../../callback/subscriptions.js'
import type { ConfigValues } from '../../config/config-values.js'
import type { SecretReference } from '../../config/config-entry.js'
import type { ConfiguredSubscription } from '../../config/config-subscriptions.js'
import {
  AFTER_PREPARE,
  checkSubscription,
  createOrPrepare,
  UNTIL_THEN,
  type CreationReport,
} from '../../service/create-subscription.js'
import type { InboxFlags } from '../../inboxes/find-inbox.js'
import { UsageError, type ExitCode, type Io } from '../../io.js'
import {
  commandWith,
  keepSecret,
  secretPlace,
  type KeptSecret,
  type KeptSecretFlags,
} from '../../service/kept-secret.js'
import { lastSeenIfPossible, readableSeen, type LastSeen } from '../../service/last-seen.js'
import { printable } from '../../../base/printable.js'
import { readServiceAccount, type ServiceFlags } from '../../service/service-options.js'

export interface RotateFlags extends ServiceFlags, KeptSecretFlags, InboxFlags {
  readonly eventType?: string
  readonly callbackUrl?: string
  readonly subscription?: string
  readonly description?: string
  readonly key?: string
}

/**
 * Stores a new secret beside the old one, creates the subscription for it, and prints the entry with both.
 * @throws UsageError
 */
export async function rotate(
  chosen: readonly ConfiguredSubscription[],
  config: ConfigValues | undefined,
  flags: RotateFlags,
  io: Io,
): Promise<ExitCode> {
  const [old, ...others] = chosen
  if (others.length > 0) {
    throw new UsageError(
      `which subscription? Use --event-type and --callback-url, or --subscription: ${chosen.map(named).join(', ')}`,
    )
  }
  const {
    eventType: eventTypeName = old?.eventTypeName,
    callbackUrl = old?.callbackUrl,
    key: idempotencyKey,
  } = flags
  if (eventTypeName === undefined || callbackUrl === undefined) {
    throw new UsageError('which subscription? Use --event-type and --callback-url, or name a --config')
  }
  checkSubscription(eventTypeName, callbackUrl)
  const account = flags.prepare ? undefined : await readServiceAccount(flags, io)
  const { reference: written, place } = secretPlace(flags)
  const reference = config ? fromFolderOf(config.file.path, written, io) : written
  // The entry may already have the new secret, from --prepare, also by another path or in a variable.
  const otherSecrets = (known?: string) => {
    const secrets = old?.secrets.filter((each) => !isSame(each.reference, reference) && each.secret !== known)
    if (secrets?.length !== 0) return secrets ?? []
    throw new UsageError(`${old?.place} already has the secret in ${place}: name a new one`)
  }
  // Before a secret is written: under the name of the old secret, a receiver would read the new one in its place.
  otherSecrets()
  const kept = await keepSecret(flags, io)
  const before = otherSecrets(kept.secret)
  const isConfigured = old !== undefined && before.length < old.secrets.length
  const subscription = { eventTypeName, callbackUrl, description: flags.description ?? old?.description }
  const seen = old ? await lastSeenIfPossible([{ ...old, secrets: before }], flags, io) : undefined
  const secrets: SecretReference[] = old ? before.map((each) => each.reference) : [undefined]
  const report: CreationReport = {
    kept,
    entry: { id: old?.id ?? flags.subscription, ...subscription, secrets: [reference, ...secrets] },
    isConfigured,
    next: nextSteps(old?.place ?? 'the old entry', kept, isConfigured, flags.prepare ?? false),
    before: seen ? readableBefore(seen) : [],
    more: seen && { before: seen },
    hidden: before.flatMap(({ secret }) => (typeof secret === 'string' ? [secret] : [])),
    isRepeat: flags.existingSecret === true && idempotencyKey !== undefined,
    showSecret: flags.showSecret,
    json: flags.json,
  }
  return createOrPrepare(account, { ...subscription, idempotencyKey }, report, io)
}

function nextSteps(place: string, kept: KeptSecret, isConfigured: boolean, isPrepared: boolean): string[] {
  const configure = isConfigured
    ? `The configuration already has both secrets in ${place}. Check that the receiver runs with it.`
    : `Replace ${place} with this entry, which has both secrets, and restart the receiver.${isPrepared ? '' : UNTIL_THEN}`
  return [
    configure,
    ...(isPrepared ? [AFTER_PREPARE] : []),
    `Watch with ${commandWith(kept, 'rotate --status')} until the old secret is no longer used.`,
    'Then remove it from the entry. The service does not document how the old subscription ends: ask the service.',
  ]
}

function named({ id, eventTypeName, callbackUrl }: ConfiguredSubscription): string {
  const subscribed = `${eventTypeName} ${withoutQuery(callbackUrl)}`
  return printable(id === undefined ? subscribed : `${subscribed} (id ${id})`)
}

function readableBefore(seen: LastSeen | { readonly unknown: string }): string[] {
  if ('unknown' in seen) return [`When the old secret was last used is not known: ${seen.unknown}`]
  return seen.secrets.map((row) => `the old secret, ${row.secret}: ${readableSeen(row, seen)}`)
}

/** In the configuration a relative name starts from its folder, on the command line from the current folder. */
function fromFolderOf(
  configPath: string,
  reference: NonNullable<SecretReference>,
  io: Io,
): NonNullable<SecretReference> {
  if ('env' in reference) return reference
  const path = relative(dirname(configPath), resolve(io.cwd(), reference.file))
  return { file: path.replaceAll(sep, '/') }
}

function isSame(one: SecretReference, other: SecretReference): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
