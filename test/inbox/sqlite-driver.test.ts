import { loadDriver } from '../../src/inbox/sqlite/driver.js'

// What a module of a bundle of Next.js says for an import whose name is a variable.
const inBundle = (): never => {
  throw new Error('Cannot find module as expression is too dynamic')
}

test('names a bundle as a cause, where no SQLite can be loaded', async () => {
  jest.doMock('@photostructure/sqlite', inBundle)
  jest.doMock('node:sqlite', inBundle, { virtual: true })
  await expect(loadDriver()).rejects.toMatchObject({
    code: 'ERR_SQLITE_MISSING',
    message: expect.stringMatching(
      /If countersign is in a bundle, leave it out of the bundle\. .*npm install/,
    ),
    cause: { errors: [expect.any(Error), expect.any(Error)] },
  })
})
