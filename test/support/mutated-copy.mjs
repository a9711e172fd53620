import { cpSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A copy of the project, built, with a defect: changes of its sources, as [file, what is there, what replaces it]. */
export function mutatedCopy(mutation) {
  const texts = mutatedTexts(mutation)
  const copy = mkdtempSync(join(tmpdir(), 'countersign-mutation-'))
  for (const part of ['src', 'test', 'fixtures', 'docs', 'package.json', 'jest.config.ts'])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  for (const [file, text] of texts) writeFileSync(join(copy, 'src', file), text)
  const sources = readdirSync(join(copy, 'src'), { recursive: true }).filter((name) => name.endsWith('.ts'))
  buildSync({
    entryPoints: sources.map((name) => join(copy, 'src', name)),
    outbase: join(copy, 'src'),
    outdir: join(copy, 'dist'),
    format: 'cjs',
    platform: 'node',
    target: 'es2022',
    logLevel: 'error',
  })
  writeFileSync(join(copy, 'dist/package.json'), '{"type":"commonjs"}')
  return copy
}

/** The sources that the defect changes, by their names. Throws if they do not have what it changes. */
export function mutatedTexts({ defect, changes }) {
  const texts = new Map()
  for (const [file, before, after] of changes) {
    const text = texts.get(file) ?? readFileSync(join(ROOT, 'src', file), 'utf8')
    if (text.split(before).length !== 2)
      throw new Error(`${defect}: ${file} does not have this once: ${before}`)
    texts.set(
      file,
      text.replace(before, () => after),
    )
  }
  return texts
}
