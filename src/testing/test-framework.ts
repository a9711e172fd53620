/** `describe` and `it` of Jest, Vitest, Mocha or node:test. */
export interface TestFramework {
  readonly describe: (name: string, register: () => void) => unknown
  readonly it: (name: string, test: () => Promise<void>) => unknown
}

export function globalFramework(caller: string): TestFramework {
  const { describe, it } = globalThis as Partial<TestFramework>
  if (describe && it) return { describe, it }
  throw new TypeError(
    `${caller} found no global describe and it. Pass those of your test framework as its last argument: ` +
      '{ describe, it }',
  )
}
