import cluster from 'node:cluster'
import { existsSync } from 'node:fs'
import type { PreparedSubscription } from '../../callback/prepared-subscription.js'
import { loggedSubscription } from '../../callback/subscriptions.js'
import type { Logger } from '../../logging/logger.js'
import { isPrivateHost } from './private-host.js'
import { secretWeakness } from './weak-secret.js'

/** Variables that a platform sets where it may run several processes of one application. */
const PLATFORMS = {
  NODE_APP_INSTANCE: 'pm2',
  KUBERNETES_SERVICE_HOST: 'Kubernetes',
  ECS_CONTAINER_METADATA_URI_V4: 'Amazon ECS',
  AWS_LAMBDA_FUNCTION_NAME: 'AWS Lambda',
  K_SERVICE: 'Cloud Run or Knative',
  WEBSITE_INSTANCE_ID: 'Azure App Service',
  DYNO: 'Heroku',
  FLY_APP_NAME: 'Fly.io',
} as const

interface Checked {
  /** Undefined if a function returns them. */
  readonly subscriptions: readonly PreparedSubscription[] | undefined
  /** Whether handled callbacks are remembered only in the memory of this process. */
  readonly inMemory: boolean
  readonly logger: Logger
}

export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Node removes NODE_UNIQUE_ID from the environment of a worker when it starts. */
  readonly isClusterWorker: boolean
  /** Where systemd-timesyncd says whether the clock is synchronised. Other programs do not say it in a file. */
  readonly timesyncFolder: string
}

/** Logs a warning for each likely mistake of the deployment. None of them keeps the receiver from starting. */
export function selfCheck(
  { subscriptions = [], inMemory, logger }: Checked,
  environment: Environment = {
    env: process.env,
    isClusterWorker: cluster.isWorker,
    timesyncFolder: '/run/systemd/timesync',
  },
): void {
  const { env, timesyncFolder } = environment
  if (inMemory) warnOfProcesses(environment, logger)
  warnOfSecrets(subscriptions, logger)
  warnOfUrls(subscriptions, env['NODE_ENV'] === 'production', logger)
  if (isUnsynchronised(timesyncFolder)) {
    const message =
      'the clock of this machine is not synchronised: genuine callbacks may be refused as too old or too new. See ' +
      'timedatectl status'
    logger.warn({ code: 'WARN_CLOCK_NOT_SYNCHRONISED' }, message)
  }
}

function isUnsynchronised(timesyncFolder: string): boolean {
  try {
    return existsSync(timesyncFolder) && !existsSync(`${timesyncFolder}/synchronized`)
  } catch {
    // The permission model of Node may not let the process look.
    return false
  }
}

function warnOfProcesses({ env, isClusterWorker }: Environment, logger: Logger): void {
  const variable = (Object.keys(PLATFORMS) as (keyof typeof PLATFORMS)[]).find((name) => env[name])
  if (variable === undefined && !isClusterWorker) return
  const sign = variable
    ? `${variable} is set (${PLATFORMS[variable]})`
    : 'this process is a worker of node:cluster'
  const message =
    `handled callbacks are remembered in the memory of this process, and ${sign}: ` +
    'if there are several processes, each would handle the same callback. Use an inbox or a store that they share'
  logger.warn({ code: 'WARN_STORE_NOT_SHARED', ...(variable && { variable }) }, message)
}

function warnOfSecrets(subscriptions: readonly PreparedSubscription[], logger: Logger): void {
  // Tenants may share a secret: one warning for each is enough.
  const seen = new Set<string>()
  for (const subscription of subscriptions) {
    for (const secret of subscription.secrets) {
      if (seen.has(secret)) continue
      seen.add(secret)
      const weakness = secretWeakness(secret)
      if (!weakness) continue
      const message = `${weakness}: use 32 random bytes, such as generateSecret() of countersign/client returns`
      logger.warn({ code: 'WARN_SECRET_WEAK', subscription: loggedSubscription(subscription) }, message)
    }
  }
}

function warnOfUrls(
  subscriptions: readonly PreparedSubscription[],
  isProduction: boolean,
  logger: Logger,
): void {
  const urls = subscriptions.map((subscription) => {
    const { protocol, hostname } = new URL(subscription.callbackUrl)
    return { subscription: loggedSubscription(subscription), protocol, isPrivate: isPrivateHost(hostname) }
  })
  // During development all hosts are private: the sender is a simulator.
  const warnOfPrivate = isProduction || urls.some(({ isPrivate }) => !isPrivate)
  for (const { subscription, protocol, isPrivate } of urls) {
    if (isPrivate && warnOfPrivate) {
      const message =
        'a callbackUrl has a private address, which the service cannot reach: configure the URL that was subscribed'
      logger.warn({ code: 'WARN_CALLBACK_URL_PRIVATE', subscription }, message)
    } else if (isProduction && protocol === 'http:') {
      const message =
        'a callbackUrl begins with http: whoever is on the way can read the callbacks. Subscribe an https URL'
      logger.warn({ code: 'WARN_CALLBACK_URL_HTTP', subscription }, message)
    }
  }
}
