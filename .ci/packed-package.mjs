// The tarball that npm would publish, and projects that have it installed.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** Node 20 has no SQLite of its own. */
export const sqliteForOldNode = process.getBuiltinModule('node:sqlite') ? [] : ['@photostructure/sqlite@1']

/** Packs into a folder, and returns the tarball's path. TARBALL names one that has been packed already. */
export function pack(folder) {
  if (process.env.TARBALL) return process.env.TARBALL
  run(root, 'npm', 'pack', '--pack-destination', folder)
  return join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.tgz')),
  )
}

export function npmInstall(folder, packages) {
  for (let tries = 1; ; tries++) {
    try {
      return run(folder, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', ...packages)
    } catch (error) {
      // The registry may have had a bad moment.
      if (tries === 3) throw error
    }
  }
}

/** What the command printed; Jest writes its summary to stderr. Without colours, for it to be searched. */
export function run(cwd, command, ...args) {
  const { NODE_OPTIONS: _, FORCE_COLOR: __, ...env } = process.env
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: { ...env, NO_COLOR: '1' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 180_000,
  })
  if (status === 0) return { stdout, output: `${stdout}${stderr}` }
  const how = error?.code ?? signal ?? `exit code ${status}`
  throw new Error(`${command} ${args.join(' ')} failed (${how}):\n${stdout}${stderr}`)
}
