import { createHash } from 'node:crypto'
import { browserLibraries } from './browser-libraries.js'
import { CONSOLE_SCRIPT } from './console-script.js'
import { CONSOLE_STYLE } from './console-style.js'

export interface Asset {
  readonly contentType: string
  readonly body: Buffer
}

/** The files that the pages load, by name. A name contains a hash of the content, so that browsers may keep the file. */
export interface Assets {
  /** The addresses of the files, relative to the pages. */
  readonly paths: {
    readonly style: string
    readonly chartStyle: string
    readonly script: string
    readonly live: string
    readonly chart: string
    readonly icon: string
  }
  find(name: string): Asset | undefined
}

const SCRIPT = 'text/javascript; charset=utf-8'
const STYLE = 'text/css; charset=utf-8'

export function createAssets(): Assets {
  const { htmx, uPlot, uPlotStyle } = browserLibraries()
  const files = new Map<string, Asset>()
  const add = (name: string, extension: string, contentType: string, text: string): string => {
    const body = Buffer.from(text)
    const hash = createHash('sha256').update(body).digest('hex').slice(0, 12)
    const file = `${name}-${hash}.${extension}`
    files.set(file, { contentType, body })
    return `assets/${file}`
  }
  return {
    paths: {
      style: add('console', 'css', STYLE, CONSOLE_STYLE),
      chartStyle: add('chart', 'css', STYLE, uPlotStyle),
      script: add('console', 'js', SCRIPT, CONSOLE_SCRIPT),
      live: add('htmx', 'js', SCRIPT, htmx),
      chart: add('uplot', 'js', SCRIPT, uPlot),
      icon: add('icon', 'svg', 'image/svg+xml', ICON),
    },
    find: (name) => files.get(name),
  }
}

/** The icon of the browser tab. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="#2a5f8f"/>
<path d="M9 16.5l4.6 4.6L23 11.5" fill="none" stroke="#fff" stroke-width="3.4" stroke-linecap="round" stroke-linejoin="round"/>
</svg>
`
