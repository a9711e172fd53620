/** @jest-config-loader esbuild-register */
import type { Config } from 'jest'

// What takes long and proves the tools, or more of the same, is in *.slow.test.ts. `npm run test:slow` runs that, and .ci/run.
const slow = process.env['TESTS'] === 'slow'

const config: Config = {
  testEnvironment: '<rootDir>/test/support/test-environment.ts',
  roots: ['<rootDir>/test'],
  testMatch: slow ? ['**/*.slow.test.ts'] : ['**/*.test.ts', '!**/*.slow.test.ts'],
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
