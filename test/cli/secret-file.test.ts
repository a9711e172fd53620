import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { readSecretFile } from '../../src/cli/secret-option.js'
import { Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const NOBODY = 65_534

/** Runs it as a user other than root, who can read every file. */
async function asOrdinaryUser<Result>(run: () => Promise<Result>): Promise<Result> {
  const user = process.geteuid!()
  if (user !== 0) return run()
  process.seteuid!(NOBODY)
  try {
    return await run()
  } finally {
    process.seteuid!(user)
  }
}

it('says which user has to be able to read a file with a secret', async () => {
  const folder = await sandbox.directory({ 'a.secret': 'a~secret' })
  await chmod(join(folder, 'a.secret'), 0)
  const user = process.geteuid!() || NOBODY
  await expect(asOrdinaryUser(() => readSecretFile('a.secret', folder))).rejects.toThrow(
    new RegExp(`\\(EACCES\\): let user ${user}, who runs this process, read the file and enter its folder$`),
  )
})

it.each(['bob.password', 'metrics.token', 'transfers.secret'])(
  'names a file that is not there and has a name of the documentation: %s',
  async (name) => {
    const folder = await sandbox.directory({})
    await expect(readSecretFile(name, folder)).rejects.toThrow(
      `cannot read the secret file ${join(folder, name)} (ENOENT)`,
    )
  },
)
