import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
export const read = (path) => readFileSync(join(root, path), 'utf8')
export const manifest = JSON.parse(read('package.json'))

/** Runs a program of this repository; `status` is not 0 when it failed, whatever the way. */
export function node(args, options) {
  const limits = { encoding: 'utf8', timeout: 60_000, stdio: ['ignore', 'pipe', 'pipe'] }
  const { status, signal, stdout, stderr, error } = spawnSync(process.execPath, args, {
    ...limits,
    ...options,
  })
  return { status: error?.code ?? status ?? signal, stdout, output: `${stdout}${stderr}`.trim() }
}
