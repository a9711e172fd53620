import { AsyncLocalStorage } from 'node:async_hooks'
import { TestEnvironment } from 'jest-environment-node'

/**
 * Jest makes an AsyncLocalStorage for each test file and does not disable it. Up to Node 22 each promise gets a property for
 * every storage that is enabled, so that promises in the last test file of a worker would have more than a hundred.
 */
export default class extends TestEnvironment {
  #disableStorages = () => {}

  override async setup(): Promise<void> {
    await super.setup()
    this.#disableStorages = trackStorages()
  }

  override async teardown(): Promise<void> {
    this.#disableStorages()
    await super.teardown()
  }
}

/** Notes each AsyncLocalStorage that runs a function from now on. The returned function ends that, and disables them. */
export function trackStorages(): () => void {
  const { prototype } = AsyncLocalStorage
  const run = Object.getOwnPropertyDescriptor(prototype, 'run')!
  const storages = new Set<AsyncLocalStorage<unknown>>()
  prototype.run = function (this: AsyncLocalStorage<unknown>, ...args: unknown[]): any {
    storages.add(this)
    return Reflect.apply(run.value as () => unknown, this, args)
  }
  return () => {
    Object.defineProperty(prototype, 'run', run)
    for (const storage of storages) storage.disable()
  }
}
