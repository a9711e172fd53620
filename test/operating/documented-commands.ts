import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Ran, RunOptions } from '../cli/program.js'

const PAGE = readFileSync(join(__dirname, '../../docs/operating.md'), 'utf8')
const BIN = join(__dirname, '../../dist/cli/bin.js')

/** The shell blocks of a section of docs/operating.md, without those of its subsections. */
export function shellBlocks(heading: string): string[] {
  const section = PAGE.split(/^#+ /m).find((each) => each.startsWith(`${heading}\n`))
  if (section === undefined) throw new Error(`docs/operating.md has no section ${heading}`)
  return [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block]) => block!)
}

/** Runs commands as the page has them, with this version as `countersign`. They end at the first one that fails. */
export async function runShell(block: string, { cwd, env = {} }: RunOptions): Promise<Ran> {
  const PATH = [programFolder(), process.env['PATH']].join(delimiter)
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', block], {
    cwd,
    env: { ...env, PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  return { code, stdout, stderr }
}

let folder: string | undefined

/** A folder with the command `countersign`. */
function programFolder(): string {
  if (folder !== undefined) return folder
  folder = mkdtempSync(join(tmpdir(), 'countersign-bin-'))
  const program = join(folder, 'countersign')
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`)
  chmodSync(program, 0o755)
  return folder
}

afterAll(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true })
})
