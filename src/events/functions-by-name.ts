import { checkIsFunction } from '../base/check-is-function.js'
import { CountersignError } from '../base/errors.js'

/** The words of error messages for the names and for the functions. */
interface Vocabulary {
  /** The method that adds a function. */
  readonly method: string
  /** What a name names, with its article, and several of it. */
  readonly named: string
  readonly plural: string
  /** What the function is. */
  readonly role: string
}

/** Functions that were added for one of a few names, in the order of their addition. */
export class FunctionsByName<Name extends string> {
  readonly #names: readonly Name[]
  readonly #vocabulary: Vocabulary
  readonly #functions = new Map<Name, readonly ((...args: never[]) => unknown)[]>()

  constructor(names: readonly Name[], vocabulary: Vocabulary) {
    this.#names = names
    this.#vocabulary = vocabulary
  }

  /** Returns the function that removes it again. @throws CountersignError ERR_HANDLER_INVALID */
  add(name: Name, given: (...args: never[]) => unknown): () => void {
    this.#check(name, given)
    // A new function for each call: the same function may be added twice.
    const added = given.bind(undefined)
    this.#functions.set(name, [...this.of(name), added])
    return () => {
      const others = this.of(name).filter((each) => each !== added)
      if (others.length > 0) this.#functions.set(name, others)
      else this.#functions.delete(name)
    }
  }

  has(name: Name): boolean {
    return this.#functions.has(name)
  }

  of(name: Name): readonly ((...args: never[]) => unknown)[] {
    return this.#functions.get(name) ?? []
  }

  #check(name: unknown, given: unknown): void {
    const { method, named, plural, role } = this.#vocabulary
    if (!(this.#names as readonly unknown[]).includes(name)) {
      const shown =
        typeof name === 'string' ? JSON.stringify(name.slice(0, 100)) : `a value of type ${typeof name}`
      const message = `${method}: ${shown} is not ${named}. The ${plural} are ${this.#names.join(', ')}.`
      throw new CountersignError('ERR_HANDLER_INVALID', message)
    }
    checkIsFunction(`${method}: the ${role}`, given)
  }
}
