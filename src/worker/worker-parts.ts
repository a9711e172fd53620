import type { Environment } from '../base/environment.js'
import type { EventChannel } from '../events/event-channel.js'
import type { Dispatcher } from '../handlers/dispatcher.js'
import type { Handlers } from '../handlers/handlers.js'
import type { InboxEngine } from '../inbox/engine.js'
import type { KnownSecrets } from '../logging/known-secrets.js'
import type { Logger } from '../logging/logger.js'
import type { EmptyingSettings } from './worker-options.js'

export interface WorkerParts extends EmptyingSettings {
  readonly inbox: InboxEngine
  readonly handlers: Handlers
  readonly dispatcher: Dispatcher
  readonly leaseMs: number
  readonly clock: () => number
  readonly logger: Logger
  /** Removed from the reason that is stored with an entry. */
  readonly secrets: KnownSecrets
  readonly events: EventChannel
  readonly environment: Environment
}
