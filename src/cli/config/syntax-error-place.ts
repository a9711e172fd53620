import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** How many modules are looked at, at most: each takes a process. */
const MAX_MODULES = 30

/**
 * FILE:LINE of the syntax error that kept a module from being imported. What import() rejects with does not name it, so
 * Node is asked to check the module, and then those that it imports by a relative path.
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

/** The first line of what `node --check` writes is FILE:LINE; the next one is source, in which a secret may stand. */
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
