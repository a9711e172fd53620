import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { nextLook } from '../support/until.js'
import { createConsole, type ConsoleOptions, type Operator } from '../../src/console.js'

export const ADA: Operator = { name: 'ada@example.com', role: 'decide' }
export const BOB: Operator = { name: 'bob@example.com', role: 'view' }

const ends: (() => void)[] = []
afterEach(() => ends.splice(0).forEach((end) => end()))

/** Listens until the test is over. Resolves to the origin. */
export async function serveUntilEnd(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export const HOSTS = ['Express 5', 'Express 4', 'node:http'] as const

/** A console on a server of its own. In Express it is mounted below a path. Resolves to the address of its overview. */
export async function runConsole(
  options: ConsoleOptions,
  host: (typeof HOSTS)[number] = 'Express 5',
): Promise<string> {
  const console = createConsole({ operator: () => ADA, logger: false, ...options })
  ends.push(() => console.close())
  if (host === 'node:http') return `${await serveUntilEnd((req, res) => console(req, res, () => {}))}/`
  // Each Express is loaded only where it is used, as it has a hundred modules.
  const { default: express } = await (host === 'Express 4' ? import('express4') : import('express'))
  const app = express()
  app.use('/admin/callbacks', console)
  return `${await serveUntilEnd(app)}/admin/callbacks/`
}

interface PageAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Browsing {
  readonly base: string
  /** Asks again while the page says that the inbox is being counted, as the page does itself. */
  get(path: string, headers?: Record<string, string>): Promise<PageAnswer>
  /** Submits the form as a browser does, unless a part is given otherwise. */
  post(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<PageAnswer>
}

/** A client that keeps cookies, as a browser does. */
export function browse(base: string): Browsing {
  const cookies = new Map<string, string>()
  const ask = async (path: string, init: RequestInit): Promise<PageAnswer> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(cookie && { Cookie: cookie }), ...(init.headers as Record<string, string>) }
    const response = await fetch(new URL(path, base), { redirect: 'manual', ...init, headers })
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(';', 1)[0]!.split('=', 2)
      cookies.set(name!, value!)
    }
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  return {
    base,
    async get(path, headers = {}) {
      for (let looks = 0; ; looks++) {
        const page = await ask(path, { headers })
        if (!/The inbox is being (?:counted|searched)\./.test(page.text)) return page
        await nextLook(looks)
      }
    },
    post: (path, fields, headers = {}) =>
      ask(path, {
        method: 'POST',
        body: new URLSearchParams(fields).toString(),
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          Origin: new URL(base).origin,
          ...headers,
        },
      }),
  }
}

/** The fields of the form of a page that it sends without being asked. */
export function hiddenFields({ text }: PageAnswer): Record<string, string> {
  const form = /<form class="(?:decide|sign-in)".*?<\/form>/s.exec(text)?.[0] ?? ''
  return Object.fromEntries(
    [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name, value]) => [
      name!,
      unescaped(value!),
    ]),
  )
}

/** The text of a page, without its tags. */
export function textOf({ text }: PageAnswer): string {
  return unescaped(text.replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ')
}

function unescaped(text: string): string {
  const characters: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => characters[name]!)
}
