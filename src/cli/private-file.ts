import { constants } from 'node:fs'
import { lstat, open, readFile, type FileHandle } from 'node:fs/promises'
import { linkProblem, ownerProblem } from '../base/file-owner.js'
import { UsageError } from './io.js'

/** Descriptors of this process, such as a shell creates for `<(command)`. No other user can have put a file there. */
const OWN_DESCRIPTOR = /^\/(?:dev\/stdin|dev\/fd\/\d+|proc\/self\/fd\/\d+)$/

export interface FollowsLinks {
  /** For volumes that consist of symbolic links, such as the volumes of Kubernetes secrets. */
  readonly followSymbolicLinks?: boolean | undefined
}

/** A symbolic link where a file with secrets is expected. */
export class SymbolicLinkError extends UsageError {}

/**
 * The bytes of a file with secrets that no user other than this one and root can change.
 * @throws UsageError; the system error if the file cannot be opened
 */
export async function readPrivateFile(
  path: string,
  name: string,
  { followSymbolicLinks = false }: FollowsLinks = {},
): Promise<Buffer> {
  if (OWN_DESCRIPTOR.test(path)) return readFile(path)
  const handle = await openPrivateFile(path, name, constants.O_RDONLY, { followSymbolicLinks })
  try {
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

/** Checks the open file and not its name, because the name may refer to another file a moment later. */
export async function openPrivateFile(
  path: string,
  name: string,
  flags: number,
  { followSymbolicLinks = false }: FollowsLinks = {},
): Promise<FileHandle> {
  // Windows has no such flags. Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const { O_NOFOLLOW: noFollow = 0, O_NONBLOCK: noWait = 0 } = constants as Partial<typeof constants>
  if (noFollow === 0 && !followSymbolicLinks && (await isLink(path)))
    throw new SymbolicLinkError(linkProblem(name))
  let handle
  try {
    handle = await open(path, flags | noWait | (followSymbolicLinks ? 0 : noFollow), 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // open(2): O_NOFOLLOW fails with ELOOP; with EMLINK on FreeBSD.
    if ((code === 'ELOOP' || code === 'EMLINK') && (await isLink(path)))
      throw new SymbolicLinkError(linkProblem(name))
    throw error
  }
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw new UsageError(`${name} is not a file`)
    const problem = ownerProblem(stats, name)
    if (problem !== undefined) throw new UsageError(problem)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  )
}
