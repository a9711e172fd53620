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

interface Bounds {
  readonly keep: number
  readonly maxBytes: number
}

/** A folder with a bounded number of captured requests. Several processes may write to one folder. */
export class CaptureFolder {
  readonly #folder: string
  readonly #bounds: Bounds
  #number = 0
  #sizes: ReadonlyMap<string, number> = new Map()

  constructor(folder: string, bounds: Bounds) {
    this.#folder = folder
    this.#bounds = bounds
  }

  /** Writes a request, and removes the oldest ones that exceed the bounds. No part of the name comes from the request. */
  async write({ http, json }: CapturedFiles, receivedAt: Date, code: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const problem = folderProblem(await lstat(this.#folder), this.#folder)
    if (problem !== undefined) throw new Error(problem)
    const bytes = http.length + Buffer.byteLength(json)
    if (bytes > this.#bounds.maxBytes) throw new Error(`a request of ${bytes} bytes exceeds capture.maxBytes`)
    await this.#makeRoom(1, bytes)
    const time = receivedAt.toISOString().replace(/[-:.]/g, '')
    // The number is for the order within a millisecond, the random part for other processes.
    const number = String((this.#number = (this.#number + 1) % 1_000_000)).padStart(6, '0')
    const name = `${time}-${number}-${randomBytes(4).toString('hex')}-${code.toLowerCase().replaceAll('_', '-')}`
    await this.#create(`${name}.http`, http)
    try {
      await this.#create(`${name}.json`, json)
    } catch (error) {
      // A folder with half a pair could not be loaded.
      await this.#remove(name)
      throw error
    }
    // Another process may have removed the first half meanwhile, to keep the bounds.
    if (!(await this.#exists(`${name}.http`))) await this.#remove(name)
    // Again, because other processes may have written meanwhile.
    await this.#makeRoom(0, 0)
  }

  async #exists(file: string): Promise<boolean> {
    return lstat(join(this.#folder, file)).then(
      () => true,
      () => false,
    )
  }

  /** `wx` creates the file or fails, and follows no symbolic link that somebody may have put there. */
  async #create(name: string, content: Buffer | string): Promise<void> {
    const path = join(this.#folder, name)
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

  async #makeRoom(neededCount: number, neededBytes: number): Promise<void> {
    const kept = await this.#kept()
    let bytes = neededBytes + [...kept.values()].reduce((sum, each) => sum + each, 0)
    let count = neededCount + kept.size
    // The names begin with the time, so their order is that of the requests.
    for (const name of [...kept.keys()].sort()) {
      if (count <= this.#bounds.keep && bytes <= this.#bounds.maxBytes) return
      await this.#remove(name)
      bytes -= kept.get(name)!
      count--
    }
  }

  /**
   * The bytes of each request in the folder. The files of a complete pair are never changed, so their sizes are asked for once. The
   * size of a file that another process is still writing must not be remembered.
   */
  async #kept(): Promise<Map<string, number>> {
    const kept = new Map<string, number>()
    const sizes = new Map<string, number>()
    const files = new Set(await readdir(this.#folder).catch(ifMissing([])))
    for (const file of files) {
      const name = captureName(file)
      if (name === undefined) continue
      // Another process may have removed it.
      const size =
        this.#sizes.get(file) ??
        (await lstat(join(this.#folder, file)).then(
          (stats) => stats.size,
          () => 0,
        ))
      // The description is written last, at once.
      if (file.endsWith('.json') ? size > 0 : files.has(`${name}.json`)) sizes.set(file, size)
      kept.set(name, (kept.get(name) ?? 0) + size)
    }
    this.#sizes = sizes
    return kept
  }

  async #remove(name: string): Promise<void> {
    for (const ending of ['http', 'json']) {
      await unlink(join(this.#folder, `${name}.${ending}`)).catch(ifMissing(undefined))
    }
  }
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
  if (!stats.isDirectory()) return `${folder} is no folder`
  const problem = ownerProblem(stats, folder)
  if (problem !== undefined) return problem
  // Windows has no such modes.
  if (process.geteuid && (stats.mode & FOR_OTHERS) !== 0)
    return `${folder} can be read by others: "chmod 700 ${folder}" first`
  return undefined
}
