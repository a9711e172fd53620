import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buildSync } from 'esbuild'

export interface StartedProgram {
  readonly child: ChildProcessWithoutNullStreams
  /** What it has printed, line by line. */
  readonly lines: string[]
  /** Resolves when it has ended, to what it has printed; rejects when it complained. */
  readonly ended: Promise<string[]>
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
  return { child, lines, ended }
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
