import { constants } from 'node:fs'
import { open, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { generateSecret } from '../../client/index.js'
import { envText } from '../environment.js'
import { UsageError, type Io } from '../io.js'
import { openPrivateFile } from '../private-file.js'

/**
 * Generates a secret and writes it to a new file that only its owner can read. It is on the disk when this
 * resolves.
 * @throws UsageError
 */
export async function writeSecretFile(name: string, io: Io): Promise<string> {
  const path = resolve(io.cwd(), name)
  let handle
  try {
    // wx: an existing secret may be in use, and a symbolic link may lead to any file.
    handle = await open(path, 'wx', 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(
      code === 'EEXIST'
        ? `${name} exists and is not overwritten: name a new file, or use its secret with --existing-secret`
        : `cannot create the secret file ${name} (${code})`,
    )
  }
  const secret = generateSecret()
  try {
    await writeDurably(handle, secret, path)
  } catch (error) {
    // Nothing has been sent yet, so a partly written secret is of no use.
    await unlink(path).catch(() => {})
    throw new UsageError(`cannot write the secret file ${name} (${(error as NodeJS.ErrnoException).code})`)
  }
  return secret
}

/**
 * Generates a secret and adds it to an env file that only its owner can read. It is on the disk when this resolves.
 * @throws UsageError
 */
export async function appendSecretLine(name: string, file: string, io: Io): Promise<string> {
  const path = resolve(io.cwd(), file)
  if (io.env[name] !== undefined) {
    throw new UsageError(
      `${name} is set in the environment, which has precedence over the line in ${file}: use another name, or --existing-secret`,
    )
  }
  let handle
  try {
    handle = await openPrivateFile(path, file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT)
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`cannot open ${file} (${(error as NodeJS.ErrnoException).code})`)
  }
  let secret
  let line
  try {
    const stat = await handle.stat()
    if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0) {
      throw new UsageError(`${file} can be read by others: "chmod 600 ${file}" first`)
    }
    // The file has a second name in a folder that was not checked. Somebody could read the secret there.
    if (stat.nlink > 1) throw new UsageError(`${file} has ${stat.nlink} hard links: name a file that has one`)
    const text = envText(await handle.readFile(), file)
    secret = generateSecret()
    line = `${text === '' || text.endsWith('\n') ? '' : '\n'}${name}=${secret}\n`
    if (name in parseEnv(text)) {
      throw new UsageError(
        `${file} already has ${name}, which is not overwritten: use another name, or its value with --existing-secret`,
      )
    }
    // The existing text may not be an env file at all.
    if (parseEnv(text + line)[name] !== secret)
      throw new UsageError(`${file} is not a file of NAME=value lines`)
  } catch (error) {
    await handle.close()
    throw error
  }
  try {
    await writeDurably(handle, line, path)
  } catch (error) {
    throw new UsageError(
      `cannot write ${file} (${(error as NodeJS.ErrnoException).code}): check its last line`,
    )
  }
  return secret
}

async function writeDurably(handle: FileHandle, text: string, path: string): Promise<void> {
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  // The folder has the name of a new file, so it must be on the disk as well. Not every system can sync a folder.
  const folder = await open(dirname(path), 'r').catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
