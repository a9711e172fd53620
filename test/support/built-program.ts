import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buildSync } from 'esbuild'
import { until } from './until.js'

export interface StartedProgram {
  readonly child: ChildProcessWithoutNullStreams
  /** What it has printed, line by line. */
  readonly lines: string[]
  /** Resolves when it has ended, to what it has printed; rejects when it complained. */
  readonly ended: Promise<string[]>
  /** What it has written to standard error. */
  readonly complaints: () => string
}

const root = join(__dirname, '../..')

/**
 * Makes a program of these statements, which may use what is imported and `print`. The paths of the imports start from this
 * folder. Returns its path, for startProgram.
 */
export function buildProgram(directory: string, imports: string, statements: string): string {
  const outfile = join(directory, 'program.cjs')
  writeFileSync(outfile, bundleOf(program(imports, statements)))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'), 'junction')
  return outfile
}

/** Tests of a file often have the same program in several directories. */
const bundles = new Map<string, Uint8Array>()

function bundleOf(contents: string): Uint8Array {
  const known = bundles.get(contents)
  if (known) return known
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: __dirname, loader: 'ts' },
    bundle: true,
    platform: 'node',
    external: ['@jest/globals', 'pg', 'redis'],
    write: false,
  })
  const bundle = outputFiles[0]!.contents
  bundles.set(contents, bundle)
  return bundle
}

export function startProgram(command: string, args: readonly string[]): StartedProgram {
  const child = spawn(command, args)
  const lines: string[] = []
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text))
  const reader = createInterface(child.stdout).on('line', (line) => lines.push(line))
  const read = new Promise((resolve) => reader.once('close', resolve))
  const ended = new Promise<string[]>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      if (code === 0 || signal === 'SIGKILL') void read.then(() => resolve(lines))
      else reject(new Error(`the program ended with ${code ?? signal}: ${complaints}`))
    })
  })
  // A test that has failed does not wait for the end. Without this, the rejection would fail the test that runs then.
  ended.catch(() => {})
  return { child, lines, ended, complaints: () => complaints }
}

/**
 * Waits for a state of what programs print. If one of them complains and ends, or the state does not come, the error has its
 * complaint.
 */
export async function untilPrinted(
  programs: readonly StartedProgram[],
  isTrue: () => boolean,
  limitMs?: number,
): Promise<void> {
  let failure: Error | undefined
  for (const { ended } of programs) ended.catch((error: Error) => (failure ??= error))
  const isPrinted = () => {
    if (failure) throw failure
    return isTrue()
  }
  try {
    await until(isPrinted, limitMs)
  } catch (error) {
    if (failure) throw failure
    const written = programs.map(({ lines, complaints }) => `${lines.slice(-5).join('\n')}\n${complaints()}`)
    throw new Error(`${isTrue} did not come true. The programs wrote:\n${written.join('\n')}`, {
      cause: error,
    })
  }
}

const program = (imports: string, statements: string) => `
  ${imports}

  const print = (line) => process.stdout.write(line + '\\n')

  async function run() {
    ${statements}
  }
  run().catch((error) => {
    console.error(error)
    process.exit(1)
  })
`
