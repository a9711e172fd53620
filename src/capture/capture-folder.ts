import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { lstat, mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { linkProblem, ownerProblem } from '../base/file-owner.js'
import type { CapturedFiles } from './captured-request.js'
import { KeptRequests, timeText } from './kept-requests.js'

/** Access of any kind for the group and for others. */
const FOR_OTHERS = 0o077

interface FolderSettings {
  readonly folder: string
  readonly keep: number
  readonly maxBytes: number
}

/** Writes a request to the folder, and removes the oldest ones that exceed the bounds. */
export type WriteCapture = (files: CapturedFiles, receivedAt: Date, code: string) => Promise<void>

/** For a folder with a bounded number of captured requests. Several processes may write to one folder. */
export function captureWriter({ folder, keep, maxBytes }: FolderSettings): WriteCapture {
  let number = 0
  const kept = new KeptRequests(folder)

  return async ({ http, json }, receivedAt, code) => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const problem = folderProblem(await lstat(folder), folder)
    if (problem !== undefined) throw new Error(problem)
    const bytes = http.length + Buffer.byteLength(json)
    if (bytes > maxBytes) throw new Error(`a request of ${bytes} bytes exceeds capture.maxBytes`)
    await kept.reduceTo({ count: keep - 1, bytes: maxBytes - bytes }, receivedAt)
    const time = timeText(receivedAt)
    // No part of the name comes from the request. The number is for the order within a millisecond, the random part for
    // other processes.
    number = (number + 1) % 1_000_000
    const numberText = String(number).padStart(6, '0')
    const name = `${time}-${numberText}-${randomBytes(4).toString('hex')}-${code.toLowerCase().replaceAll('_', '-')}`
    await create(`${name}.http`, http)
    try {
      await create(`${name}.json`, json)
    } catch (error) {
      // A folder with half a pair could not be loaded.
      await kept.remove(name)
      throw error
    }
    // Another process may have removed the first half meanwhile, to keep the bounds.
    if (await exists(`${name}.http`)) kept.add(name, bytes)
    else await kept.remove(name)
    // Again, because other processes may have written meanwhile.
    await kept.reduceTo({ count: keep, bytes: maxBytes }, receivedAt)
  }

  async function exists(file: string): Promise<boolean> {
    return lstat(join(folder, file)).then(
      () => true,
      () => false,
    )
  }

  /** `wx` creates the file or fails, and follows no symbolic link that somebody may have put there. */
  async function create(name: string, content: Buffer | string): Promise<void> {
    const path = join(folder, name)
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(content)
    } catch (error) {
      await unlink(path).catch(() => undefined)
      throw error
    } finally {
      await file.close()
    }
  }
}

/** What keeps a folder from holding requests, with the cure; undefined if nothing does. */
export function folderProblem(stats: Stats, folder: string): string | undefined {
  if (stats.isSymbolicLink()) return linkProblem(folder)
  if (!stats.isDirectory()) return `${folder} is not a folder`
  const problem = ownerProblem(stats, folder)
  if (problem !== undefined) return problem
  // Windows has no such modes.
  if (process.geteuid && (stats.mode & FOR_OTHERS) !== 0)
    return `${folder} can be read by others: "chmod 700 ${folder}" first`
  return undefined
}
