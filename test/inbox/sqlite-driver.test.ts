import { loadDriver } from '../../src/inbox/sqlite/driver.js'

// What a module of a bundle of Next.js says for an import whose name is a variable.
const inBundle = (): never => {
  throw new Error('Cannot find module as expression is too dynamic')
}

afterEach(() => jest.restoreAllMocks())

test('loads what Node includes, in a bundle that cannot import it', async () => {
  const DatabaseSync = jest.fn()
  jest.doMock('@photostructure/sqlite', inBundle)
  jest.doMock('node:sqlite', inBundle, { virtual: true })
  jest
    .spyOn(process, 'getBuiltinModule')
    .mockImplementation((name: string) => (name === 'node:sqlite' ? { DatabaseSync } : undefined))
  await expect(loadDriver()).resolves.toEqual({ name: 'node:sqlite', DatabaseSync })
})

test('names a bundle as a cause, where no SQLite can be loaded', async () => {
  jest.doMock('@photostructure/sqlite', inBundle)
  jest.doMock('node:sqlite', inBundle, { virtual: true })
  jest.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined)
  await expect(loadDriver()).rejects.toMatchObject({
    code: 'ERR_SQLITE_MISSING',
    message: expect.stringMatching(
      /If countersign is in a bundle, leave it out of the bundle\. .*npm install/,
    ),
    cause: { errors: [expect.any(Error), expect.any(Error)] },
  })
})
