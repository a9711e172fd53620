import type { IncomingMessage, ServerResponse } from 'node:http'
import { SYSTEM } from '../base/environment.js'
import type { Access } from './access.js'
import { assetAnswer, seeOther, send, type Answer } from './answer.js'
import { createAssets } from './assets/assets.js'
import { consoleRequest, MAX_URL_LENGTH, type ConsoleRequest } from './console-request.js'
import { readForm } from './form.js'
import { formToken, isFormToken, TOKEN_FIELD } from './form-token.js'
import { InboxReading } from './inbox-reading.js'
import { messagePage } from './pages/message.js'
import type { ConsoleParts, Visit } from './page.js'
import { PAGES } from './pages/pages.js'
import { Renderer } from './renderer.js'
import { isSameOrigin, OTHER_ORIGIN } from './same-origin.js'
import { securityHeaders } from './security-headers.js'

type HandlerParts = Omit<ConsoleParts, 'renderer' | 'reading'>

type ConsoleHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Answers every request below the path of a console. */
export function consoleHandler(
  shared: HandlerParts,
  accessWith: (renderer: Renderer) => Access,
): ConsoleHandler {
  const { logger } = shared
  const assets = createAssets()
  const reading = new InboxReading(shared.inbox, SYSTEM.monotonic)
  const parts: ConsoleParts = { ...shared, reading, renderer: new Renderer(assets.paths) }
  const access = accessWith(parts.renderer)
  const setSecurityHeaders = securityHeaders()

  return async (request, response) => {
    const parsed = consoleRequest(request)
    try {
      // This throws if a middleware in front has answered and has still called `next`.
      setSecurityHeaders(request, response)
      const answer = await answerTo(request, parsed)
      // A body that was not read. HTTP/2 has no such header.
      if (!request.complete && request.method === 'POST' && request.httpVersionMajor === 1)
        response.setHeader('Connection', 'close')
      send(request, response, answer)
    } catch (error) {
      logFailure(error)
      const text = 'The inbox could not be read or written. The log of this process has the cause.'
      if (!response.headersSent) send(request, response, refusal(parsed, 503, text))
    }
  }

  async function answerTo(request: IncomingMessage, parsed: ConsoleRequest): Promise<Answer> {
    if ((request.url ?? '').length > MAX_URL_LENGTH) return refusal(parsed, 414, 'The address is too long.')
    const { method, path, lacksSlash, root } = parsed
    if (!['GET', 'HEAD', 'POST'].includes(method)) return notAllowed(parsed, 'GET, HEAD, POST')
    if (path === undefined) return refusal(parsed, 400, 'The address cannot be decoded.')
    if (lacksSlash && method !== 'POST') return seeOther(root)
    if (path.startsWith('/assets/')) return assetAt(parsed, path.slice('/assets/'.length))
    return pageAt(request, parsed, path)
  }

  function assetAt(parsed: ConsoleRequest, name: string): Answer {
    if (parsed.method === 'POST') return notAllowed(parsed, 'GET, HEAD')
    const asset = assets.find(name)
    return asset ? assetAnswer(asset) : refusal(parsed, 404, 'There is no such file.')
  }

  async function pageAt(request: IncomingMessage, parsed: ConsoleRequest, path: string): Promise<Answer> {
    const admission = await access(request, parsed)
    if (admission === 'refused') return refusal(parsed, 403, 'You are not permitted to use this console.')
    if ('answer' in admission) return admission.answer
    if ('failed' in admission) {
      logFailure(admission.failed)
      return refusal(parsed, 503, OPERATOR_FAILED)
    }
    const { operator, browserSecret, canSignOut, headers } = admission
    const token = formToken(browserSecret, operator.name)
    const frame = { operator, token: canSignOut ? token : undefined }
    const visit: Visit = { request: parsed, operator, formToken: token, frame }
    const answer = await pageOf(request, path, visit, browserSecret)
    return headers ? { ...answer, headers: { ...answer.headers, ...headers } } : answer
  }

  async function pageOf(
    request: IncomingMessage,
    path: string,
    visit: Visit,
    browserSecret: string,
  ): Promise<Answer> {
    const page = PAGES.get(path === '' ? '/' : path)
    if (!page)
      return messagePage(parts, visit, 404, 'No such page', 'The console has no page with this address.')
    const isSubmitted = visit.request.method === 'POST'
    if ((isSubmitted || page.isForDeciding) && visit.operator.role !== 'decide')
      return messagePage(parts, visit, 403, 'Not permitted', 'Your role does not permit you to decide.')
    if (!isSubmitted) return page.read(parts, visit)
    if (!page.submit) return notAllowed(visit.request, 'GET, HEAD')
    if (!isSameOrigin(request)) return messagePage(parts, visit, 403, 'Not permitted', OTHER_ORIGIN)
    const form = await readForm(request)
    if ('refused' in form)
      return messagePage(parts, visit, form.refused, 'Not understood', 'The form cannot be read.')
    if (!isFormToken(form.fields.get(TOKEN_FIELD), browserSecret, visit.operator.name))
      return messagePage(
        parts,
        visit,
        403,
        'Not done',
        'The form is from another session. Open the page again.',
      )
    return page.submit(parts, visit, form.fields)
  }

  function logFailure(error: unknown): void {
    logger.error({ code: 'ERR_CONSOLE_FAILED', err: error }, 'a page of the console could not be made')
  }

  function refusal(parsed: ConsoleRequest, status: number, text: string): Answer {
    return messagePage(parts, { request: parsed }, status, 'Not available', text)
  }

  function notAllowed(parsed: ConsoleRequest, allow: string): Answer {
    return { ...refusal(parsed, 405, 'This method is not supported here.'), headers: { Allow: allow } }
  }
}

const OPERATOR_FAILED =
  'The function “operator” of this application failed, or what it returned is not an operator. The log of this process has the cause.'
