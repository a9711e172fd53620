/** @jest-config-loader esbuild-register */
import type { Config } from 'jest'

/**
 * *.system.test.ts start, kill and restart programs and servers, which takes longer than all other tests together. *.slow.test.ts
 * take long and prove the tools, or more of the same. .ci/run tries quick ones on every version of Node, and all system tests on 24.
 */
const TEST_FILES: Record<string, string[]> = {
  quick: ['**/*.test.ts', '!**/*.{system,slow}.test.ts'],
  system: ['**/*.system.test.ts'],
  'quick and system': ['**/*.test.ts', '!**/*.slow.test.ts'],
  slow: ['**/*.slow.test.ts'],
}
const tests = process.env['TESTS'] ?? 'quick'
const testMatch = TEST_FILES[tests]
if (!testMatch)
  throw new Error(`TESTS is "${tests}". It must be one of: ${Object.keys(TEST_FILES).join(', ')}.`)

const config: Config = {
  testEnvironment: '<rootDir>/test/support/test-environment.ts',
  roots: ['<rootDir>/test'],
  testMatch,
  // Many tests hold sockets and processes open; with more workers than cores, some would exceed their time limits.
  maxWorkers: 2,
  // For tests that hang. Where other programs have most of the processor, those that start processes take twenty seconds.
  testTimeout: 60_000,
  globalSetup: '<rootDir>/test/support/test-run.ts',
  testSequencer: '<rootDir>/test/support/long-files-first.mjs',
  transform: {
    '^.+\\.[cm]?[jt]s$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, sourceMaps: true },
    ],
  },
  // Nearly every import of the tests and of src is of a TypeScript file.
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
  resolver: '<rootDir>/test/support/typescript-resolver.cjs',
  coverageProvider: 'v8',
  collectCoverageFrom: ['src/**/*.ts'],
}

export default config
