import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { variable } from '../../environment.js'
import { UsageError, type Io } from '../../io.js'
import { readSecretFile } from '../../secret-option.js'

export interface ClientSecretFlags {
  readonly clientSecretFile?: string
  readonly showSecret?: true
  readonly callbackUrl?: string
}

/** The client secret of the simulator, and where it can be found. @throws UsageError */
export async function clientSecret(
  flags: ClientSecretFlags,
  io: Io,
): Promise<{ clientSecret: string; place: string }> {
  const { clientSecretFile: file, showSecret, callbackUrl } = flags
  // All 40 characters that the service allows.
  const fresh = randomBytes(30).toString('base64url')
  if (file !== undefined) {
    const made = await make(resolve(io.cwd(), file), fresh, file)
    return { clientSecret: made ? fresh : await readSecretFile(file, io.cwd()), place: `in ${file}` }
  }
  const known = variable(io, 'COUNTERSIGN_CLIENT_SECRET')
  if (known !== undefined) return { clientSecret: known, place: 'that of COUNTERSIGN_CLIENT_SECRET' }
  // If a subscription is created at the start, no client is needed.
  if (showSecret) return { clientSecret: fresh, place: 'random, and shown here' }
  if (callbackUrl !== undefined) return { clientSecret: fresh, place: 'random, and not shown' }
  throw new UsageError(
    'no client secret: set COUNTERSIGN_CLIENT_SECRET, or have one made with --client-secret-file or --show-secret',
  )
}

/** Whether the file did not exist, so that it now has this secret. */
async function make(path: string, secret: string, file: string): Promise<boolean> {
  try {
    // wx: an existing secret is never overwritten.
    await writeFile(path, secret, { mode: 0o600, flag: 'wx' })
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    throw new UsageError(`cannot make the client secret file ${file} (${code})`)
  }
}
