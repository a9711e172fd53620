import { execFileSync } from 'node:child_process'
import { constants } from 'node:fs'
import { open, readFile, rm, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { nextLook } from '../support/until.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const FIXTURES = join(__dirname, '../../fixtures/recorded')

interface Description {
  readonly subscription: { readonly secret: string; readonly callbackUrl: string }
}

it('countersign verify goes on with the rest where a receiver removes captures from the folder meanwhile', async () => {
  const [http, json] = await Promise.all(
    ['http', 'json'].map((ending) => readFile(join(FIXTURES, `curl.${ending}`), 'latin1')),
  )
  const files = { 'a.json': json!, 'b.http': http!, 'c.http': http!, 'c.json': json! }
  const { secret, callbackUrl } = (JSON.parse(json!) as Description).subscription
  const cwd = await sandbox.directory({
    ...files,
    'd.http': http!,
    'a.secret': secret,
    'a.url': callbackUrl,
  })
  const pipe = join(cwd, 'a.http')
  execFileSync('mkfifo', [pipe])
  const explaining = countersign(['verify', '.', '--secret-file', 'a.secret', '--url-file', 'a.url'], {
    cwd,
  })
  const firstRead = await opened(pipe)
  await Promise.all(['a.http', 'b.http'].map((name) => rm(join(cwd, name))))
  // It is read again for its subscription.
  execFileSync('mkfifo', [pipe])
  await firstRead.writeFile(http!, 'latin1')
  await firstRead.close()
  const secondRead = await opened(pipe)
  await rm(join(cwd, 'c.http'))
  await secondRead.writeFile(http!, 'latin1')
  await secondRead.close()
  const { code, stdout, stderr } = await explaining
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.match(/^\w\.http(?=  the signature is valid$)/gm)).toEqual(['a.http', 'c.http', 'd.http'])
})

it('countersign verify leaves out a capture that a receiver is still writing', async () => {
  const [http, json] = await Promise.all(
    ['http', 'json'].map((ending) => readFile(join(FIXTURES, `curl.${ending}`), 'latin1')),
  )
  const { secret, callbackUrl } = (JSON.parse(json!) as Description).subscription
  const capture = '20261103T091427000Z-000001-0a1b2c3d-err-signature-mismatch'
  const cwd = await sandbox.directory({ 'a.secret': secret, 'a.url': callbackUrl })
  const captures = await sandbox.directory({ [`${capture}.http`]: '', 'other.http': http! })
  const explain = (path: string) =>
    countersign(['verify', path, '--secret-file', 'a.secret', '--url-file', 'a.url'], { cwd })
  const { code, stdout, stderr } = await explain(captures)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^other\.http  the signature is valid$/m)
  expect(stdout).not.toContain(capture)

  // Named itself, or complete as far as its description says, it is a mistake to report.
  expect(await explain(join(captures, `${capture}.http`))).toMatchObject({ code: 2 })
  await writeFile(join(captures, `${capture}.json`), '{}')
  expect(await explain(captures)).toMatchObject({ code: 2 })
})

/** Opens a pipe for writing once the program has opened it for reading. */
async function opened(pipe: string): Promise<FileHandle> {
  for (let looks = 0; ; looks++) {
    try {
      return await open(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error
      await nextLook(looks)
    }
  }
}
