/** @jest-config-loader esbuild-register */
import type { Config } from 'jest'

const config: Config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  // Many tests hold sockets and processes open; more workers than cores would make their limits a lottery.
  maxWorkers: 2,
  testTimeout: 20_000,
  transform: {
    '^.+\\.[cm]?[jt]s$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, sourceMaps: 'inline' },
    ],
  },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  coverageProvider: 'v8',
  collectCoverageFrom: ['src/**/*.ts'],
}

export default config
