import { setMaxListeners } from 'node:events'
import { createAuthenticator } from '../callback/authenticator.js'
import { RequestCapture } from '../capture/request-capture.js'
import { EventChannel } from '../events/event-channel.js'
import { ListenerErrors } from '../events/listener-errors.js'
import { publishAnswer } from '../events/publish-answer.js'
import { Dispatcher } from '../handlers/dispatcher.js'
import { Handlers } from '../handlers/handlers.js'
import { OutcomeLog } from '../http/log-outcome.js'
import { callbackProcessor } from '../http/process-callback.js'
import { ENGINE } from '../inbox/inbox.js'
import { decisionPublisher } from '../inbox/inbox-openers.js'
import { silentLogger } from '../logging/logger.js'
import { ProbeResponder } from '../probe/responder.js'
import { Worker } from '../worker/worker.js'
import { DurableAcceptance } from './durable-acceptance.js'
import { InlineAcceptance } from './inline-acceptance.js'
import { InFlight } from './in-flight.js'
import { Pipeline } from './pipeline.js'
import { RefusalDiagnosis } from './refusal-diagnosis.js'
import type { ReceiverSettings } from './settings.js'

export type ReceiverParts = ReturnType<typeof createParts>

/** Creates the parts of a receiver and connects them. */
export function createParts(settings: ReceiverSettings) {
  const { limits, logger, checked, stopTimeoutMs, environment } = settings
  const { clock } = settings.authentication
  const listenerErrors = new ListenerErrors(logger)
  const events = new EventChannel((error, event) => listenerErrors.write(error, event))
  const capture = settings.capture && new RequestCapture(settings.capture, { logger, clock })
  const diagnosis = settings.diagnosis
    ? new RefusalDiagnosis({
        authentication: settings.authentication,
        logger: settings.logRefusalsPerSecond > 0 ? logger : silentLogger,
        events,
      })
    : undefined
  const outcomeLog = new OutcomeLog(logger, settings.logRefusalsPerSecond)
  if (logger !== silentLogger) events.on('answered', (event) => outcomeLog.write(event))

  const inFlight = new InFlight()
  const { handlers, acceptance } = createAcceptance(settings, events, inFlight)
  const stopping = new AbortController()
  // Each callback whose body is arriving listens to it.
  setMaxListeners(Infinity, stopping.signal)
  const pipeline = new Pipeline({
    authenticate: createAuthenticator(settings.authentication),
    acceptance,
    stopping: stopping.signal,
    events,
    inFlight,
    environment,
  })
  const processCallback = callbackProcessor({
    limits,
    stopping: stopping.signal,
    outcomeOf: (request) => {
      handlers.freeze()
      return pipeline.outcomeOf(request)
    },
    probes: settings.probes
      ? {
          responder: new ProbeResponder({
            ...settings.authentication,
            ...limits,
            remember: (nonce, sentAtMs) => acceptance.rememberProbe(nonce, sentAtMs),
          }),
          logger,
        }
      : undefined,
    onAnswered: (answered) => {
      publishAnswer(events, answered)
      diagnosis?.consider(answered)
      capture?.take(answered)
    },
  })
  return {
    handlers,
    events,
    listenerErrors,
    outcomeLog,
    capture,
    acceptance,
    inbox: 'inbox' in settings.acceptance ? settings.acceptance.inbox : undefined,
    pipeline,
    processCallback,
    stopping,
    lingerMs: limits.bodyTimeoutMs,
    stopTimeoutMs,
    checked,
    logger,
  }
}

/** What accepts callbacks: an inbox and its worker, or the handlers with an idempotency store. */
function createAcceptance(settings: ReceiverSettings, events: EventChannel, inFlight: InFlight) {
  const { acceptance, handlerTimeoutMs, leaseMs, schemas, logger, environment, secrets } = settings
  const { dependencyTimeoutMs, clock } = settings.authentication
  const hasTransactions = 'inbox' in acceptance && acceptance.inbox[ENGINE].transact !== undefined
  const lackSharedStore = 'store' in acceptance && settings.checked.inMemory
  const handlers = new Handlers(handlerTimeoutMs, leaseMs, 'receiver', { hasTransactions, lackSharedStore })
  const dispatcher = new Dispatcher({
    handlers,
    schemas,
    schemaTimeoutMs: dependencyTimeoutMs,
    logger,
    environment,
  })
  const shared = { handlers, dispatcher, leaseMs, dependencyTimeoutMs, events, inFlight, logger, environment }
  if (!('inbox' in acceptance)) {
    return { handlers, acceptance: new InlineAcceptance({ ...shared, ...acceptance }) }
  }
  const inbox = acceptance.inbox[ENGINE]
  const worker = new Worker({ ...shared, ...acceptance, inbox, clock, secrets })
  const opener = decisionPublisher(events, () => worker.wake())
  return {
    handlers,
    acceptance: new DurableAcceptance({ ...shared, ...acceptance, inbox, worker, opener }),
  }
}
