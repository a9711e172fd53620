import { loadDriver } from '../../src/inbox/sqlite/driver.js'
import { probeInboxFile } from '../../src/inbox/sqlite/probe-inbox-file.js'
import { collectedLog } from '../support/collected-log.js'
import { inboxFile } from '../support/sqlite-file.js'

// What a module of a bundle of Next.js says for an import whose name is a variable.
const inBundle = (): never => {
  throw new Error('Cannot find module as expression is too dynamic')
}

afterEach(() => jest.restoreAllMocks())

test('loads what Node includes, in a bundle that cannot import it', async () => {
  const DatabaseSync = jest.fn()
  jest.doMock('@photostructure/sqlite', inBundle)
  jest
    .spyOn(process, 'getBuiltinModule')
    .mockImplementation((name: string) => (name === 'node:sqlite' ? { DatabaseSync } : undefined))
  await expect(loadDriver()).resolves.toEqual({ name: 'node:sqlite', DatabaseSync })
})

test('names a bundle as a cause, where no SQLite can be loaded', async () => {
  jest.doMock('@photostructure/sqlite', inBundle)
  jest.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined)
  await expect(loadDriver()).rejects.toMatchObject({
    code: 'ERR_INBOX_DRIVER_MISSING',
    message: expect.stringMatching(
      /npm install @photostructure\/sqlite.* If countersign is in a bundle, leave it out of the bundle\./,
    ),
    cause: expect.any(Error),
  })
})

test.each([
  ['3.51.2', 1],
  ['3.51.3', 0],
])('a probe of an inbox with SQLite %s gives %i warnings', async (version, warnings) => {
  const DatabaseSync = jest.fn(() => ({ prepare: () => ({ get: () => ({ version }) }), close() {} }))
  jest.spyOn(process, 'getBuiltinModule').mockReturnValue({ DatabaseSync })
  const log = collectedLog()
  await probeInboxFile(inboxFile(), log)
  expect(log.withCode('WARN_SQLITE_OLD')).toHaveLength(warnings)
})

test('does not let Node say that its SQLite is experimental, and lets it say everything else', async () => {
  const warnings: unknown[] = []
  jest.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(warning))
  const { emitWarning } = process
  jest.spyOn(process, 'getBuiltinModule').mockImplementation(() => {
    process.emitWarning(
      'SQLite is an experimental feature and might change at any time',
      'ExperimentalWarning',
    )
    process.emitWarning('something else')
    return { DatabaseSync: jest.fn() }
  })
  await loadDriver()
  expect(warnings).toEqual(['something else'])
  expect(process.emitWarning).toBe(emitWarning)
})
