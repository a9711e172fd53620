import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './project.mjs'

const PATH = /`((?:\.ci|\.github|bench|docs|examples|fixtures|src|test)\/[\w./@-]*)`/g

/** A file or folder of the repository that a page names is there. */
export function checkPaths({ path, prose }) {
  return prose.flatMap((line, index) =>
    [...line.matchAll(PATH)]
      .filter(([, named]) => !existsSync(join(root, named)))
      .map(([, named]) => `${path}:${index + 1}: there is no ${named}`),
  )
}
