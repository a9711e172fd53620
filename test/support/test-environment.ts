import { AsyncLocalStorage } from 'node:async_hooks'
import vm, { Script } from 'node:vm'
import { TestEnvironment } from 'jest-environment-node'

const { compileFunction } = vm
/** Of this worker, for all its test files. */
const compileOnce = compilerOfModules()

export default class extends TestEnvironment {
  readonly #collectsCoverage: boolean
  #disableStorages = () => {}

  constructor(...args: ConstructorParameters<typeof TestEnvironment>) {
    super(...args)
    this.#collectsCoverage = args[0].globalConfig.collectCoverage
  }

  override async setup(): Promise<void> {
    await super.setup()
    this.#disableStorages = trackStorages()
    // A coverage report takes the places in a script for places in the file.
    if (!this.#collectsCoverage) Object.assign(vm, { compileFunction: compileOnce })
  }

  override async teardown(): Promise<void> {
    Object.assign(vm, { compileFunction })
    this.#disableStorages()
    await super.teardown()
  }
}

/**
 * Jest loads its own modules and those of the tests anew for each test file, and compiled them each time: that was half of the
 * processor time that an average test file took. What is returned here does what `compileFunction` does for Jest, and keeps
 * what it has compiled.
 */
export function compilerOfModules(): typeof compileFunction {
  const scripts = new Map<string, { source: string; names: string; script: Script }>()
  return (source, parameters = [], options = {}) => {
    const { filename = '', parsingContext } = options
    if (!parsingContext) return compileFunction(source, parameters, options)
    const names = parameters.join()
    let known = scripts.get(filename)
    if (known?.source !== source || known.names !== names) {
      const head = `(function (${names}) {`
      // The first line of the module keeps its columns.
      const script = new Script(`${head}${source}\n})`, { filename, columnOffset: -head.length })
      scripts.set(filename, (known = { source, names, script }))
    }
    return known.script.runInContext(parsingContext)
  }
}

/**
 * Notes each AsyncLocalStorage that runs a function from now on. The returned function ends that, and disables them. Jest makes
 * one for each test file and does not disable it. Up to Node 22 each promise gets a property for every storage that is enabled,
 * so that promises in the last test file of a worker would have more than a hundred.
 */
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
