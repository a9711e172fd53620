/** Has these methods of an object work without it, as `const { on } = receiver` needs. Names that the object lacks are ignored. */
export function bindMethods(target: object, names: readonly string[]): void {
  for (const name of names) {
    const method: unknown = Reflect.get(target, name)
    // Not enumerable, as methods are not: an inspected object stays short.
    if (typeof method === 'function')
      Object.defineProperty(target, name, { value: method.bind(target), writable: true, configurable: true })
  }
}
