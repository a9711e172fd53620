// What a file system and the kernel say to each other (include/uapi/linux/fuse.h of Linux).

export const PAGE = 4_096
export const EMPTY = Buffer.alloc(0)
export const MAX_WRITE = 131_072
export const DIRECT_IO = 1
export const [ENOENT, EIO, EEXIST, ENOSYS] = [2, 5, 17, 38] as const
export const OPCODES = {
  lookup: 1,
  getattr: 3,
  setattr: 4,
  mknod: 8,
  unlink: 10,
  rename: 12,
  open: 14,
  read: 15,
  write: 16,
  statfs: 17,
  release: 18,
  fsync: 20,
  flush: 25,
  init: 26,
  opendir: 27,
  readdir: 28,
  releasedir: 29,
  fsyncdir: 30,
  access: 34,
  create: 35,
  rename2: 45,
} as const
/** FORGET, INTERRUPT, BATCH_FORGET. */
export const WITHOUT_ANSWER = new Set([2, 36, 42])

/** With the number of an error of the system. */
export class Refusal extends Error {
  constructor(readonly errno: number) {
    super(`errno ${errno}`)
  }
}

export function textIn(given: Buffer, at: number): string {
  return given.toString('latin1', at, given.indexOf(0, at))
}

export function initialised(): Buffer {
  const answer = Buffer.alloc(64)
  answer.writeUInt32LE(7, 0)
  answer.writeUInt32LE(31, 4)
  answer.writeUInt32LE(MAX_WRITE, 8)
  // FUSE_BIG_WRITES, FUSE_MAX_PAGES
  answer.writeUInt32LE((1 << 5) | (1 << 22), 12)
  answer.writeUInt16LE(16, 16)
  answer.writeUInt16LE(12, 18)
  answer.writeUInt32LE(MAX_WRITE, 20)
  answer.writeUInt32LE(1, 24)
  answer.writeUInt16LE(MAX_WRITE / PAGE, 28)
  return answer
}

interface Attributes {
  readonly number: number
  readonly isFolder: boolean
  readonly mode: number
  readonly size: number
}

/** After so many other bytes. */
export function attributes({ number, isFolder, mode, size }: Attributes, before: number): Buffer {
  const answer = Buffer.alloc(before + 88)
  answer.writeBigUInt64LE(BigInt(number), before)
  answer.writeBigUInt64LE(BigInt(size), before + 8)
  answer.writeBigUInt64LE(BigInt(Math.ceil(size / 512)), before + 16)
  answer.writeUInt32LE(mode, before + 60)
  answer.writeUInt32LE(isFolder ? 2 : 1, before + 64)
  answer.writeUInt32LE(PAGE, before + 80)
  return answer
}

export function opened(flags: number): Buffer {
  const answer = Buffer.alloc(16)
  answer.writeUInt32LE(flags, 8)
  return answer
}

export function room(): Buffer {
  const answer = Buffer.alloc(80)
  for (const at of [0, 8, 16, 24, 32]) answer.writeBigUInt64LE(1_000_000n, at)
  answer.writeUInt32LE(PAGE, 40)
  answer.writeUInt32LE(255, 44)
  answer.writeUInt32LE(PAGE, 48)
  return answer
}
