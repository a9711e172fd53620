import { execFileSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** How a block is allocated that is written for the first time differs between them. */
export type FileSystem = 'ext4' | 'ext4 with dioread_lock' | 'XFS'

/**
 * A file system on a loop device, whose blocks are in a file of a file system in memory. While that has no room, the kernel
 * fails to write each block that was never written before. Only root can make one.
 */
export class FailingDisk {
  readonly #memory = mkdtempSync(join(tmpdir(), 'countersign-disk-'))
  readonly #image = join(this.#memory, 'disk')
  readonly folder = join(this.#memory, 'mounted')
  readonly #mounted: string[] = []
  readonly #fileSystem: FileSystem

  constructor(megabytes: number, fileSystem: FileSystem = 'ext4') {
    this.#fileSystem = fileSystem
    run('mount', '-t', 'tmpfs', '-o', `size=${8 * megabytes}m`, 'tmpfs', this.#memory)
    try {
      this.#format(megabytes)
      this.#mount(this.#image, this.folder)
    } catch (error) {
      this.remove()
      throw error
    }
  }

  /** From now on a block that is written for the first time is lost. Nobody may write meanwhile. */
  fail(): void {
    const { bavail, blocks, bsize } = statfsSync(this.#memory)
    run('mount', '-o', `remount,size=${((blocks - bavail) * bsize) / 1_024 + 256}k`, this.#memory)
  }

  heal(): void {
    run('mount', '-o', 'remount,size=75%', this.#memory)
  }

  /** The kernel reads a file anew from the disk, except for what it has still to write. */
  evict(file: string): void {
    run('dd', `if=${file}`, 'iflag=nocache', 'count=0', 'status=none')
  }

  /** The folder as it is found if the power fails now: without what the kernel has not written. */
  afterPowerFailure(): string {
    const index = this.#mounted.length
    const [image, folder] = [join(this.#memory, `disk-${index}`), join(this.#memory, `mounted-${index}`)]
    run('cp', '--sparse=always', this.#image, image)
    this.#mount(image, folder)
    return folder
  }

  remove(): void {
    for (const folder of this.#mounted.splice(0)) run('umount', '--lazy', folder)
    run('umount', '--lazy', this.#memory)
    rmSync(this.#memory, { recursive: true })
  }

  #format(megabytes: number): void {
    closeSync(openSync(this.#image, 'w'))
    truncateSync(this.#image, megabytes * MEGABYTE)
    // It writes all that it needs at the beginning.
    if (this.#fileSystem === 'XFS') return void run('mkfs.xfs', '-q', '-f', '-d', 'agcount=2', this.#image)
    // What ext4 keeps for itself must not fail, or it refuses to be written at all. It is at the beginning of the disk.
    run('mke2fs', '-q', '-F', '-t', 'ext4', ...LAYOUT, this.#image)
    const own = Buffer.alloc(OWN_MEGABYTES * MEGABYTE)
    const descriptor = openSync(this.#image, 'r+')
    readSync(descriptor, own, 0, own.length, 0)
    writeSync(descriptor, own, 0, own.length, 0)
    closeSync(descriptor)
  }

  #mount(image: string, folder: string): void {
    mkdirSync(folder)
    const device = run('losetup', '--find', '--show', image).trim()
    try {
      // The kernel takes a request that was written in part for success, so each has one block.
      writeFileSync(`/sys/block/${basename(device)}/queue/max_sectors_kb`, '4')
      run('mount', ...MOUNT_OPTIONS[this.#fileSystem], device, folder)
      this.#mounted.push(folder)
    } finally {
      // It ends with the mount.
      run('losetup', '--detach', device)
    }
  }
}

const MEGABYTE = 1_048_576
const MOUNT_OPTIONS: Readonly<Record<FileSystem, readonly string[]>> = {
  ext4: ['-t', 'ext4'],
  'ext4 with dioread_lock': ['-t', 'ext4', '-o', 'dioread_lock'],
  // A copy has the UUID of what it is a copy of.
  XFS: ['-t', 'xfs', '-o', 'nouuid'],
}
const LAYOUT =
  '-b 4096 -N 256 -O ^resize_inode -J size=8 -E packed_meta_blocks=1,lazy_itable_init=0,lazy_journal_init=0,nodiscard'.split(
    ' ',
  )
/** The inodes, the bitmaps and the journal of that layout. */
const OWN_MEGABYTES = 9

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' })
}

export function canMakeFailingDisks(fileSystem: FileSystem): boolean {
  if (process.getuid?.() !== 0) return false
  try {
    new FailingDisk(fileSystem === 'XFS' ? 400 : 64, fileSystem).remove()
    return true
  } catch {
    // Such as in a container without loop devices.
    return false
  }
}
