import { isPending, type MaybePending } from '../base/pending.js'
import { FunctionsByName } from './functions-by-name.js'
import { reportRejection } from './report-rejection.js'
import { STEP_NAMES, type StepHook, type StepName, type Steps } from './steps.js'

/** The hooks around the steps of callbacks. If a hook throws, `onError` gets the error, and the step runs without the hook. */
export class StepHooks {
  readonly #hooks = new FunctionsByName(STEP_NAMES, {
    method: 'events.around',
    named: 'a step',
    plural: 'steps',
    role: 'hook',
  })
  readonly #onError: (error: unknown, step: object) => void

  constructor(onError: (error: unknown, step: object) => void) {
    this.#onError = onError
  }

  /** @throws CountersignError ERR_HANDLER_INVALID */
  add<Name extends StepName>(name: Name, hook: StepHook<Name>): () => void {
    return this.#hooks.add(name, hook)
  }

  has(name: StepName): boolean {
    return this.#hooks.has(name)
  }

  /** Runs a step with its hooks around it. The hook that was added first is the outermost. */
  run<Name extends StepName, Result extends Steps[Name]['result']>(
    name: Name,
    step: Steps[Name]['step'],
    work: () => MaybePending<Result>,
  ): MaybePending<Result> {
    return this.#hooks
      .of(name)
      .reduceRight<() => MaybePending<Result>>(
        (inner, hook) => () => this.#around(hook as StepHook<Name>, step, inner),
        work,
      )()
  }

  #around<Name extends StepName, Result>(
    hook: StepHook<Name>,
    step: Steps[Name]['step'],
    work: () => MaybePending<Result>,
  ): MaybePending<Result> {
    let taken: MaybePending<Result> | undefined
    let failure: { readonly error: unknown } | undefined
    let rejection: typeof failure
    let isTaken = false
    // A hook that passes on the error of the step has not failed itself.
    const report = (error: unknown): void => {
      const ofStep = failure ?? rejection
      if (!ofStep || ofStep.error !== error) this.#onError(error, step)
    }
    const next = (): MaybePending<Result> => {
      if (!isTaken) {
        isTaken = true
        try {
          taken = work()
        } catch (error) {
          failure = { error }
        }
      }
      if (failure) throw failure.error
      return taken as MaybePending<Result>
    }
    try {
      const returned = hook(step, next)
      if (!isTaken) throw new Error('a hook did not call next before it returned')
      if (returned !== taken && isPending(returned)) {
        if (isPending(taken)) void reportRejection(taken, (error) => (rejection = { error }))
        void reportRejection(returned, report)
      }
    } catch (error) {
      report(error)
    }
    return next()
  }
}
