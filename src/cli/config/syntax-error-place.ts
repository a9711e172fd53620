import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** How many modules are checked at most, because each check starts a process. */
const MAX_MODULES = 30

/**
 * FILE:LINE of the syntax error that prevented the import of a module. The rejection of import() does not contain
 * it, so Node checks the module, and then the modules that it imports by a relative path.
 */
export async function syntaxErrorPlace(path: string): Promise<string | undefined> {
  const modules = new Set([path])
  for (const module of modules) {
    const place = await placeIn(module)
    if (place !== undefined) return place
    for (const imported of await importedBy(module)) if (modules.size < MAX_MODULES) modules.add(imported)
  }
  return undefined
}

/**
 * The first line of the output of `node --check` is FILE:LINE. The next line is source code, which may contain a
 * secret.
 */
function placeIn(path: string): Promise<string | undefined> {
  return new Promise((found) => {
    execFile(process.execPath, ['--check', path], { env: {} }, (error, _stdout, stderr) => {
      const line = /:(\d+)\r?$/.exec(stderr.split('\n', 1)[0]!)?.[1]
      found(error && line !== undefined ? `${path}:${line}` : undefined)
    })
  })
}

async function importedBy(path: string): Promise<string[]> {
  const source = await readFile(path, 'utf8').catch(() => '')
  return [...source.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.{1,2}\/[^'"\n]+)['"]/g)]
    .map(([, name]) => resolve(dirname(path), name!))
    .filter((each) => existsSync(each))
}
