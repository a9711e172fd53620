import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, read, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import {
  attributes,
  DIRECT_IO,
  EEXIST,
  EIO,
  EMPTY,
  ENOENT,
  ENOSYS,
  initialised,
  MAX_WRITE,
  OPCODES,
  opened,
  PAGE,
  Refusal,
  room,
  textIn,
  WITHOUT_ANSWER,
} from './fuse.js'
import { temporaryFolder } from './server-program.js'

const SECTOR = 512

/** What a disk may hold of a page, besides what was synced: the states that it has had since then, the oldest first. */
interface Page {
  synced: Buffer
  pending: Buffer[]
  /** Whether a sync has brought something to the block that it has now. */
  isWritten: boolean
  /** The first write to its block has failed: on ext4 with its defaults no later sync brings anything there. */
  isLost: boolean
}

interface Inode {
  readonly number: number
  readonly isFolder: boolean
  mode: number
  content: Buffer
  size: number
  syncedSize: number
  /** Whether its length was ever synced. */
  readonly pages: Map<number, Page>
}

export type Image = 'synced' | 'written' | 'mixed' | 'torn'

/**
 * A file system in this process, in one folder, that knows of each write whether it was synced. From what it knows it makes the folder
 * that is found if the power fails at this moment. It speaks FUSE with the kernel, so the programs that use it are ordinary ones. This
 * process must not use its files: it would wait for itself.
 */
export class RecordingDisk {
  readonly folder = join(temporaryFolder(), 'mounted')
  /** Called before each sync is carried out, also before one that fails. */
  beforeSync: () => void = () => {}
  /** `syncs`: each sync fails, and what it would have written is lost. `writes`: some writes fail. */
  failing: 'nothing' | 'syncs' | 'writes' = 'nothing'
  /** How many syncs there were. */
  syncs = 0
  failedSyncs = 0
  readonly #random: () => number
  readonly #fuse = openSync('/dev/fuse', 'r+')
  readonly #inodes = new Map<number, Inode>()
  #names = new Map<string, number>()
  /** As they were when the folder was synced, and each state since. */
  #syncedNames = new Map<string, number>()
  #pendingNames: Map<string, number>[] = []
  #lastInode = 1
  #isOpen = true

  constructor(random: () => number = Math.random) {
    this.#random = random
    this.#inodes.set(1, newInode(1, 0o40755))
  }

  async mount(): Promise<void> {
    mkdirSync(this.folder)
    const options = `fd=3,rootmode=40000,user_id=${process.getuid!()},group_id=${process.getgid!()},allow_other`
    const mounting = spawn('mount', ['-i', '-t', 'fuse', '-o', options, 'recording', this.folder], {
      stdio: ['ignore', 'ignore', 'pipe', this.#fuse],
    })
    let complaint = ''
    mounting.stderr!.on('data', (text) => (complaint += text))
    const [code] = (await once(mounting, 'exit')) as [number]
    if (code !== 0) throw new Error(`mount failed: ${complaint}`)
    this.#serve()
  }

  async remove(): Promise<void> {
    const unmounting = spawn('umount', ['--lazy', this.folder], { stdio: 'ignore' })
    await once(unmounting, 'exit')
    this.#isOpen = false
    closeSync(this.#fuse)
  }

  /** Writes into an empty folder what the disk may hold now. */
  writeImage(image: Image, folder: string): void {
    const states = [this.#syncedNames, ...this.#pendingNames]
    const names = image === 'synced' ? states[0]! : image === 'written' ? states.at(-1)! : this.#oneOf(states)
    for (const [name, number] of names) {
      const inode = this.#inodes.get(number)!
      writeFileSync(join(folder, name), this.#contentIn(image, inode))
    }
  }

  #contentIn(image: Image, { pages, size, syncedSize }: Inode): Buffer {
    const length =
      image === 'synced' ? syncedSize : image === 'written' ? size : this.#oneOf([syncedSize, size])
    const content = Buffer.alloc(length)
    for (const [index, page] of pages) {
      const at = index * PAGE
      if (at >= length) continue
      const states = [page.synced, ...page.pending]
      if (image === 'torn')
        for (let sector = 0; sector < PAGE; sector += SECTOR)
          this.#oneOf(states).copy(content, at + sector, sector, Math.min(sector + SECTOR, length - at))
      else {
        const state =
          image === 'synced' ? states[0]! : image === 'written' ? states.at(-1)! : this.#oneOf(states)
        state.copy(content, at, 0, Math.min(PAGE, length - at))
      }
    }
    return content
  }

  #oneOf<Each>(all: readonly Each[]): Each {
    return all[Math.floor(this.#random() * all.length)]!
  }

  #serve(): void {
    const request = Buffer.allocUnsafe(MAX_WRITE + 4_096)
    read(this.#fuse, request, 0, request.length, null, (error, length) => {
      // It is not mounted any more.
      if (!this.#isOpen || error?.code === 'ENODEV' || error?.code === 'ECONNABORTED') return
      if (error && error.code !== 'ENOENT' && error.code !== 'EINTR' && error.code !== 'EAGAIN') throw error
      if (!error) this.#answer(request.subarray(0, length))
      this.#serve()
    })
  }

  #answer(request: Buffer): void {
    const opcode = request.readUInt32LE(4)
    if (WITHOUT_ANSWER.has(opcode)) return
    const unique = request.subarray(8, 16)
    const node = Number(request.readBigUInt64LE(16))
    let status = 0
    let body: Buffer = EMPTY
    try {
      body = this.#carryOut(opcode, node, request.subarray(40))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      status = -error.errno
    }
    const head = Buffer.alloc(16)
    head.writeUInt32LE(16 + body.length, 0)
    head.writeInt32LE(status, 4)
    unique.copy(head, 8)
    try {
      writeSync(this.#fuse, Buffer.concat([head, body]))
    } catch (error) {
      // Who asked was killed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  #carryOut(opcode: number, node: number, given: Buffer): Buffer {
    switch (opcode) {
      case OPCODES.init:
        return initialised()
      case OPCODES.lookup:
        return this.#entry(this.#named(textIn(given, 0)))
      case OPCODES.getattr:
        return attributes(this.#inode(node), 16)
      case OPCODES.setattr:
        return this.#setAttributes(this.#inode(node), given)
      case OPCODES.opendir:
        return opened(0)
      case OPCODES.open:
        return this.#opened(node)
      case OPCODES.create: {
        const inode = this.#create(textIn(given, 16), given.readUInt32LE(4))
        return Buffer.concat([this.#entry(inode), this.#opened(inode.number)])
      }
      case OPCODES.mknod:
        return this.#entry(this.#create(textIn(given, 16), given.readUInt32LE(0)))
      case OPCODES.read: {
        const { content, size } = this.#inode(node)
        const at = Number(given.readBigUInt64LE(8))
        return content.subarray(at, Math.min(size, at + given.readUInt32LE(16)))
      }
      case OPCODES.write:
        return this.#write(this.#inode(node), given)
      case OPCODES.unlink:
        this.#named(textIn(given, 0))
        this.#rename((names) => names.delete(textIn(given, 0)))
        return EMPTY
      case OPCODES.rename:
      case OPCODES.rename2: {
        const from = textIn(given, opcode === OPCODES.rename ? 8 : 16)
        const to = textIn(given, (opcode === OPCODES.rename ? 8 : 16) + from.length + 1)
        const inode = this.#named(from)
        this.#rename((names) => names.delete(from) && names.set(to, inode.number))
        return EMPTY
      }
      case OPCODES.readdir:
        return this.#list(Number(given.readBigUInt64LE(8)))
      case OPCODES.fsync:
      case OPCODES.fsyncdir:
        this.#sync(this.#inode(node))
        return EMPTY
      case OPCODES.statfs:
        return room()
      case OPCODES.release:
      case OPCODES.releasedir:
      case OPCODES.flush:
      case OPCODES.access:
        return EMPTY
      default:
        throw new Refusal(ENOSYS)
    }
  }

  #sync(inode: Inode): void {
    this.syncs++
    this.beforeSync()
    const { pages } = inode
    const unsynced = [...pages].filter(([, page]) => page.pending.length > 0)
    if (this.failing === 'syncs' && (unsynced.length > 0 || inode.size !== inode.syncedSize)) {
      this.failedSyncs++
      const isEvicted = this.#random() < 0.5
      for (const [index, page] of unsynced) {
        page.isLost ||= !page.isWritten
        page.pending = []
        // The kernel takes the page for written, and may read it from the disk the next time.
        if (isEvicted) page.synced.copy(inode.content, index * PAGE)
      }
      throw new Refusal(EIO)
    }
    // A journalling file system writes what was done to names before, in its order.
    this.#syncedNames = this.#pendingNames.at(-1) ?? this.#syncedNames
    this.#pendingNames = []
    inode.syncedSize = inode.size
    for (const page of pages.values()) {
      if (page.pending.length > 0 && !page.isLost) {
        page.synced = page.pending.at(-1)!
        page.isWritten = true
      }
      page.pending = []
    }
  }

  /** The index of the log is mapped into memory. What is read of other files comes from here, and not from the cache of the kernel. */
  #opened(node: number): Buffer {
    const [name] = [...this.#names].find(([, number]) => number === node) ?? ['']
    return opened(name.endsWith('-shm') ? 0 : DIRECT_IO)
  }

  #write(inode: Inode, given: Buffer): Buffer {
    if (this.failing === 'writes' && this.#random() < 0.1) throw new Refusal(EIO)
    const at = Number(given.readBigUInt64LE(8))
    const length = given.readUInt32LE(16)
    setSize(inode, Math.max(inode.size, at + length))
    given.copy(inode.content, at, 40, 40 + length)
    for (let index = Math.floor(at / PAGE); index * PAGE < at + length; index++) changed(inode, index)
    const answer = Buffer.alloc(8)
    answer.writeUInt32LE(length)
    return answer
  }

  #setAttributes(inode: Inode, given: Buffer): Buffer {
    const valid = given.readUInt32LE(0)
    if (valid & 1) inode.mode = (inode.mode & 0o170000) | (given.readUInt32LE(68) & 0o7777)
    if (valid & 8) {
      const size = Number(given.readBigUInt64LE(16))
      const before = inode.size
      setSize(inode, size)
      if (size < before) {
        inode.content.fill(0, size, before)
        for (const [index, page] of inode.pages) {
          if ((index + 1) * PAGE > size) changed(inode, index)
          // Its block is free, and what is written there next has another one.
          if (index * PAGE >= size) page.isWritten = page.isLost = false
        }
      }
    }
    return attributes(inode, 16)
  }

  #create(name: string, mode: number): Inode {
    if (this.#names.has(name)) throw new Refusal(EEXIST)
    const inode = newInode(++this.#lastInode, 0o100000 | (mode & 0o7777))
    this.#inodes.set(inode.number, inode)
    this.#rename((names) => names.set(name, inode.number))
    return inode
  }

  #rename(change: (names: Map<string, number>) => unknown): void {
    this.#names = new Map(this.#names)
    change(this.#names)
    this.#pendingNames.push(this.#names)
  }

  #named(name: string): Inode {
    const number = this.#names.get(name)
    if (number === undefined) throw new Refusal(ENOENT)
    return this.#inode(number)
  }

  #inode(number: number): Inode {
    const inode = this.#inodes.get(number)
    if (!inode) throw new Refusal(ENOENT)
    return inode
  }

  #entry(inode: Inode): Buffer {
    const head = Buffer.alloc(40)
    head.writeBigUInt64LE(BigInt(inode.number), 0)
    return Buffer.concat([head, attributes(inode, 0)])
  }

  #list(offset: number): Buffer {
    const all = [...this.#names].slice(offset).map(([name, number], index) => {
      const entry = Buffer.alloc(24 + 8 * Math.ceil(name.length / 8))
      entry.writeBigUInt64LE(BigInt(number), 0)
      entry.writeBigUInt64LE(BigInt(offset + index + 1), 8)
      entry.writeUInt32LE(name.length, 16)
      entry.writeUInt32LE(8, 20)
      entry.write(name, 24)
      return entry
    })
    return Buffer.concat(all)
  }
}

/** Whether this process may mount file systems of its own. */
export const canMakeRecordingDisks =
  process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/dev/fuse')

const ZEROS = Buffer.alloc(PAGE)
function newInode(number: number, mode: number): Inode {
  const isFolder = (mode & 0o40000) !== 0
  return { number, isFolder, mode, content: Buffer.alloc(PAGE), size: 0, syncedSize: 0, pages: new Map() }
}

function setSize(inode: Inode, size: number): void {
  inode.size = size
  if (size <= inode.content.length) return
  const longer = Buffer.alloc(Math.max(size, 2 * inode.content.length))
  inode.content.copy(longer)
  inode.content = longer
}

function changed({ content, pages }: Inode, index: number): void {
  let page = pages.get(index)
  if (!page) pages.set(index, (page = { synced: ZEROS, pending: [], isWritten: false, isLost: false }))
  const state = Buffer.alloc(PAGE)
  content.copy(state, 0, index * PAGE, (index + 1) * PAGE)
  page.pending.push(state)
}
