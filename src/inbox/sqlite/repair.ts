import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { bytesIn } from './open-files.js'

/**
 * Copies the database and its log, or the log alone, to new blocks of the disk. On ext4 with its defaults a block whose first write
 * failed reads as zeros after a power loss, also if it was written and synced again with success; and no later sync reports an earlier
 * failure. What the page cache holds is right, and goes to blocks whose writes are seen to succeed. Any mixture of old and new files
 * has the same content, as the log still has every page since it was copied into the database the last time.
 *
 * Only for who has the inbox alone, with nothing of it open. Throws errors of system calls. Nothing is lost then, and it can be tried
 * again.
 */
export function copyToNewBlocks(file: string, { withDatabase }: { readonly withDatabase: boolean }): void {
  const wal = `${file}-wal`
  const paths = [...(withDatabase ? [file] : []), ...(bytesIn(wal) > 0 ? [wal] : [])]
  for (const path of paths) copy(path, newName(path))
  // A program that reads keeps the old index, and what it says of the log is not so of another database. A log alone keeps its index:
  // a connection in this process, whose statements were not garbage collected yet, would keep it for those that are opened later.
  if (withDatabase && existsSync(`${file}-shm`)) unlinkSync(`${file}-shm`)
  for (const path of paths) renameSync(newName(path), path)
  const folder = openSync(dirname(file), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

function newName(path: string): string {
  return `${path}.new`
}

/** By reading and writing: `copyFile` may let both files share blocks. */
function copy(from: string, to: string): void {
  const { mode, uid, gid } = statSync(from)
  rmSync(to, { force: true })
  const [source, target] = [openSync(from, 'r'), openSync(to, 'wx', mode & 0o777)]
  try {
    if (process.getuid?.() === 0) chownSync(to, uid, gid)
    const bytes = Buffer.allocUnsafe(CHUNK_BYTES)
    for (let length; (length = readSync(source, bytes)) > 0;) {
      for (let written = 0; written < length;) written += writeSync(target, bytes, written, length - written)
    }
    fsyncSync(target)
  } finally {
    closeSync(source)
    closeSync(target)
  }
}

const CHUNK_BYTES = 1_048_576
