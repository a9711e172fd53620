import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { buildSync } from 'esbuild'

/**
 * Runs a program that imports from src/ and prints JSON, and returns that. It has a process of its own, in which nothing else
 * takes memory, and `gc()`.
 */
export function measuredBy(
  contents: string,
  { timeoutMs = 50_000, execArgv = [] }: { timeoutMs?: number; execArgv?: readonly string[] } = {},
): unknown {
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: join(__dirname, '../../src') },
    bundle: true,
    platform: 'node',
    write: false,
  })
  const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', ...execArgv, '-'], {
    input: outputFiles[0]!.contents,
    encoding: 'utf8',
    timeout: timeoutMs,
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}
