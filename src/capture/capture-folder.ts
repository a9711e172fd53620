import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { lstat, mkdir, open, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { linkProblem, ownerProblem } from '../base/file-owner.js'
import type { CapturedFiles } from './captured-request.js'

/** Access of any kind for the group and for others. */
const FOR_OTHERS = 0o077

/** Only files with such a name are counted and removed. Other files in the folder are not captures. */
const OWN_NAME = /^(\d{8}T\d{9}Z-\d{6}-[\da-f]{8}-[a-z\d-]{1,60})\.(?:http|json)$/

/** The name of the request whose file it is; undefined for files that are not captures. */
export function captureName(file: string): string | undefined {
  return OWN_NAME.exec(file)?.[1]
}

/** Of requests that arrived together, a later one may be written first, and the clocks of other processes may differ. */
const MAX_AHEAD_MS = 3_600_000

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
  let sizes: ReadonlyMap<string, number> = new Map()

  return async ({ http, json }, receivedAt, code) => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const problem = folderProblem(await lstat(folder), folder)
    if (problem !== undefined) throw new Error(problem)
    const bytes = http.length + Buffer.byteLength(json)
    if (bytes > maxBytes) throw new Error(`a request of ${bytes} bytes exceeds capture.maxBytes`)
    await makeRoom(1, bytes, receivedAt)
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
      await remove(name)
      throw error
    }
    // Another process may have removed the first half meanwhile, to keep the bounds.
    if (!(await exists(`${name}.http`))) await remove(name)
    // Again, because other processes may have written meanwhile.
    await makeRoom(0, 0, receivedAt)
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

  async function makeRoom(neededCount: number, neededBytes: number, now: Date): Promise<void> {
    const kept = await keptRequests()
    let bytes = neededBytes + [...kept.values()].reduce((sum, each) => sum + each, 0)
    let count = neededCount + kept.size
    for (const name of oldestFirst([...kept.keys()], now)) {
      if (count <= keep && bytes <= maxBytes) return
      await remove(name)
      bytes -= kept.get(name)!
      count--
    }
  }

  /**
   * The bytes of each request in the folder. The files of a complete pair are never changed, so their sizes are asked for once. The
   * size of a file that another process is still writing must not be remembered.
   */
  async function keptRequests(): Promise<Map<string, number>> {
    const kept = new Map<string, number>()
    const sizesNow = new Map<string, number>()
    const files = new Set(await readdir(folder).catch(ifMissing([])))
    for (const file of files) {
      const name = captureName(file)
      if (name === undefined) continue
      // Another process may have removed it.
      const size =
        sizes.get(file) ??
        (await lstat(join(folder, file)).then(
          (stats) => stats.size,
          () => 0,
        ))
      // The description is written last, and in one step.
      if (file.endsWith('.json') ? size > 0 : files.has(`${name}.json`)) sizesNow.set(file, size)
      kept.set(name, (kept.get(name) ?? 0) + size)
    }
    sizes = sizesNow
    return kept
  }

  async function remove(name: string): Promise<void> {
    for (const ending of ['http', 'json']) {
      await unlink(join(folder, `${name}.${ending}`)).catch(ifMissing(undefined))
    }
  }
}

/** As it begins the names of files. */
function timeText(time: Date): string {
  return time.toISOString().replace(/[-:.]/g, '')
}

/**
 * The names begin with the time, so their order is that of the requests. A later time than now is from before the clock was set
 * back: such a request is older than all others.
 */
function oldestFirst(names: readonly string[], now: Date): string[] {
  const ahead = timeText(new Date(now.getTime() + MAX_AHEAD_MS))
  const inOrder = [...names].sort()
  return [...inOrder.filter((name) => name > ahead), ...inOrder.filter((name) => name <= ahead)]
}

/** Somebody may remove files, and the whole folder, at any time. */
function ifMissing<Value>(value: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === 'ENOENT') return value
    throw error
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
