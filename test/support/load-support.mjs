import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { compileFunction } from 'node:vm'
import { buildSync } from 'esbuild'

/** What a support file exports, for programs that run outside of Jest: the support files of the tests are TypeScript. */
export function loadSupport(file) {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL(file, import.meta.url))],
    bundle: true,
    platform: 'node',
    packages: 'external',
    write: false,
    logLevel: 'error',
  })
  const module = { exports: {} }
  const run = compileFunction(outputFiles[0].text, ['module', 'exports', 'require'])
  run(module, module.exports, createRequire(import.meta.url))
  return module.exports
}
