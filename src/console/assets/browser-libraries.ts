import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** The files of htmx and uPlot that the pages load. */
interface BrowserLibraries {
  readonly htmx: string
  readonly uPlot: string
  readonly uPlotStyle: string
}

/**
 * Reads the files from the development dependencies of the repository. The package has no such dependencies: .ci/build.mjs replaces
 * this module in `dist` with one that contains the texts.
 */
export function browserLibraries(): BrowserLibraries {
  const repository = createRequire(__filename)
  const read = (file: string): string => readFileSync(repository.resolve(file), 'utf8')
  return {
    htmx: read('htmx.org/dist/htmx.min.js'),
    uPlot: read('uplot/dist/uPlot.iife.min.js'),
    uPlotStyle: read('uplot/dist/uPlot.min.css'),
  }
}
