import { lstat, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Only files with such a name are counted and removed. Other files in the folder are not captures. */
const OWN_NAME = /^(\d{8}T\d{9}Z-\d{6}-[\da-f]{8}-[a-z\d-]{1,60})\.(?:http|json)$/

/** Of requests that arrived together, a later one may be written first, and the clocks of other processes may differ. */
const MAX_AHEAD_MS = 3_600_000

/** The folder is listed again after one step for so many requests in it: the cost of a step does not grow with their number. */
const REQUESTS_PER_STEP = 32

/** A file system that lists a file and does not find it must not be listed for ever. */
const MAX_LISTS = 2

/** The name of the request whose file it is; undefined for files that are not captures. */
export function captureName(file: string): string | undefined {
  return OWN_NAME.exec(file)?.[1]
}

/** As it begins the names of files. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/[-:.]/g, '')
}

interface Room {
  readonly count: number
  readonly bytes: number
}

/** The requests in a folder, as far as this process knows them: other processes may write and remove requests, too. */
export class KeptRequests {
  readonly #folder: string
  /** The bytes of each request. */
  #kept = new Map<string, number>()
  /** The names of `#kept` in their order, which is that of the times of the requests. */
  #names: string[] = []
  #bytes = 0
  /** For each request that another process has removed, it has probably written one that is not known yet. */
  #unknown: Room = { count: 0, bytes: 0 }
  /** Since the folder was listed. */
  #steps = Infinity
  /** Of the files of complete pairs, which are never changed. */
  #sizes: ReadonlyMap<string, number> = new Map()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** A request that this process has written. */
  add(name: string, bytes: number): void {
    this.#kept.set(name, bytes)
    this.#names.splice(firstAfter(this.#names, name), 0, name)
    this.#bytes += bytes
  }

  /** Removes the oldest requests until no more than `limit` are left. */
  async reduceTo(limit: Room, now: Date): Promise<void> {
    this.#steps++
    for (let lists = 0; ;) {
      if (lists < MAX_LISTS && this.#steps > 0 && this.#steps * REQUESTS_PER_STEP >= this.#kept.size) {
        lists++
        await this.#list()
      }
      const count = this.#kept.size + this.#unknown.count
      const bytes = this.#bytes + this.#unknown.bytes
      if (this.#names.length === 0 || (count <= limit.count && bytes <= limit.bytes)) return
      await this.#removeOldest(now)
    }
  }

  /** Removes the files of a request. Resolves to false if there were none. */
  async remove(name: string): Promise<boolean> {
    let removed = false
    for (const ending of ['http', 'json']) {
      const isRemoved = unlink(join(this.#folder, `${name}.${ending}`)).then(() => true)
      removed = (await isRemoved.catch(ifMissing(false))) || removed
    }
    return removed
  }

  async #removeOldest(now: Date): Promise<void> {
    const index = this.#oldest(now)
    const name = this.#names[index]!
    const bytes = this.#kept.get(name)!
    const isRemoved = await this.remove(name)
    this.#names.splice(index, 1)
    this.#kept.delete(name)
    this.#bytes -= bytes
    if (isRemoved) return
    this.#steps++
    const { count, bytes: others } = this.#unknown
    this.#unknown = { count: count + 1, bytes: others + bytes }
  }

  /** A later time than now is from before the clock was set back: such a request is older than all others. */
  #oldest(now: Date): number {
    const ahead = firstAfter(this.#names, timeText(new Date(now.getTime() + MAX_AHEAD_MS)))
    return ahead === this.#names.length ? 0 : ahead
  }

  /** The size of a file that another process is still writing must not be remembered. */
  async #list(): Promise<void> {
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
      // The description is written last, and in one step.
      if (file.endsWith('.json') ? size > 0 : files.has(`${name}.json`)) sizes.set(file, size)
      kept.set(name, (kept.get(name) ?? 0) + size)
    }
    this.#sizes = sizes
    this.#kept = kept
    this.#names = [...kept.keys()].sort()
    this.#bytes = [...kept.values()].reduce((sum, each) => sum + each, 0)
    this.#unknown = { count: 0, bytes: 0 }
    this.#steps = 0
  }
}

/** The index of the first of the sorted texts that comes after `text`, or their number. */
function firstAfter(sorted: readonly string[], text: string): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! > text) high = middle
    else low = middle + 1
  }
  return low
}

/** Somebody may remove files, and the whole folder, at any time. */
function ifMissing<Value>(value: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === 'ENOENT') return value
    throw error
  }
}
