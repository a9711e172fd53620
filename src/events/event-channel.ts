import { bindMethods } from '../base/bind-methods.js'
import { CountersignError } from '../base/errors.js'
import type { MaybePending } from '../base/pending.js'
import { FunctionsByName } from './functions-by-name.js'
import { LIFECYCLE_EVENT_NAMES, type LifecycleEventName, type LifecycleEvents } from './lifecycle-events.js'
import { reportRejection } from './report-rejection.js'
import { StepHooks } from './step-hooks.js'
import { AROUND, type StepHook, type StepName, type Steps } from './steps.js'

export type LifecycleListener<Name extends LifecycleEventName = LifecycleEventName> = (
  event: LifecycleEvents[Name],
) => unknown

/** Where listeners and hooks are added. Both methods may be passed on without the object. */
export interface ReceiverEvents {
  /**
   * Calls `listener` for each event of this name. Returns the function that removes it.
   * @throws CountersignError ERR_HANDLER_INVALID
   */
  on<Name extends LifecycleEventName>(name: Name, listener: LifecycleListener<Name>): () => void

  /**
   * Calls `hook` around each attempt to handle a callback, for example to run handlers in an `AsyncLocalStorage`. The hook calls
   * `next` once, before it returns. If it throws or does not call `next`, the attempt runs without it. Returns a function that removes
   * the hook.
   * @throws CountersignError ERR_HANDLER_INVALID
   */
  around(name: 'attempt', hook: StepHook<'attempt'>): () => void
}

/** What our own telemetry needs of them. */
export interface StepEvents extends ReceiverEvents {
  readonly [AROUND]: <Name extends StepName>(name: Name, hook: StepHook<Name>) => () => void
}

/**
 * Reports what happens to callbacks. Listeners are called synchronously, in the order in which they were added. An
 * exception or a rejection of a listener goes to `onListenerError` and affects neither the callback nor the other
 * listeners.
 */
export class EventChannel implements StepEvents {
  readonly #listeners = new FunctionsByName(LIFECYCLE_EVENT_NAMES, {
    method: 'events.on',
    named: 'an event',
    plural: 'events',
    role: 'listener',
  })
  readonly #onListenerError: (error: unknown, event: object) => void
  readonly #hooks: StepHooks

  constructor(onListenerError: (error: unknown, event: object) => void) {
    this.#onListenerError = onListenerError
    this.#hooks = new StepHooks(onListenerError)
    bindMethods(this, ['on', 'around'])
  }

  on<Name extends LifecycleEventName>(name: Name, listener: LifecycleListener<Name>): () => void {
    return this.#listeners.add(name, listener)
  }

  /**
   * Whether there is a listener. Publishers check this before they create an event: without listeners an event
   * costs nothing.
   */
  has(name: LifecycleEventName): boolean {
    return this.#listeners.has(name)
  }

  publish<Name extends LifecycleEventName>(name: Name, event: LifecycleEvents[Name]): void {
    for (const listener of this.#listeners.of(name)) {
      try {
        const returned = listener(event as never)
        if (returned !== undefined)
          void reportRejection(returned, (error) => this.#onListenerError(error, event))
      } catch (error) {
        this.#onListenerError(error, event)
      }
    }
  }

  around(name: 'attempt', hook: StepHook<'attempt'>): () => void {
    const given: unknown = name
    if (given === 'attempt') return this.#hooks.add(name, hook)
    const shown =
      typeof given === 'string' ? JSON.stringify(given.slice(0, 100)) : `a value of type ${typeof given}`
    const message = `events.around: ${shown} is not a step. The only one is attempt.`
    throw new CountersignError('ERR_HANDLER_INVALID', message)
  }

  [AROUND]<Name extends StepName>(name: Name, hook: StepHook<Name>): () => void {
    return this.#hooks.add(name, hook)
  }

  /** Whether there is a hook. Callers check this before they create a step: without hooks a step costs nothing more. */
  isSurrounded(name: StepName): boolean {
    return this.#hooks.has(name)
  }

  /** Takes a step with its hooks around it. Rejects or throws only if `work` does. */
  within<Name extends StepName, Result extends Steps[Name]['result']>(
    name: Name,
    step: Steps[Name]['step'],
    work: () => MaybePending<Result>,
  ): MaybePending<Result> {
    return this.#hooks.run(name, step, work)
  }
}
