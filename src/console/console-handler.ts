import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Access } from './access.js'
import { assetAnswer, html, seeOther, send, type Answer } from './answer.js'
import { createAssets } from './assets/assets.js'
import { consoleRequest, MAX_URL_LENGTH, type ConsoleRequest } from './console-request.js'
import { readForm } from './form.js'
import { formToken, isFormToken, TOKEN_FIELD } from './form-token.js'
import { messagePage } from './pages/message.js'
import type { ConsoleParts, Visit } from './page.js'
import { PAGES } from './pages/pages.js'
import { Renderer } from './renderer.js'
import { isSameOrigin, OTHER_ORIGIN } from './same-origin.js'
import { securityHeaders } from './security-headers.js'

type HandlerParts = Omit<ConsoleParts, 'renderer'>

type ConsoleHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Answers every request below the path of a console. */
export function consoleHandler(
  shared: HandlerParts,
  accessWith: (renderer: Renderer) => Access,
): ConsoleHandler {
  const { logger } = shared
  const assets = createAssets()
  const parts: ConsoleParts = { ...shared, renderer: new Renderer(assets.paths) }
  const access = accessWith(parts.renderer)
  const setSecurityHeaders = securityHeaders()

  return async (request, response) => {
    try {
      // This throws if a middleware in front has answered and has still called `next`.
      setSecurityHeaders(request, response)
      const answer = await answerTo(request)
      // A body that was not read. HTTP/2 has no such header.
      if (!request.complete && request.method === 'POST' && request.httpVersionMajor === 1)
        response.setHeader('Connection', 'close')
      send(request, response, answer)
    } catch (error) {
      logFailure(error)
      const text = 'The inbox could not be read or written. The log of this process has the cause.'
      if (!response.headersSent)
        send(request, response, messagePage(parts, undefined, 503, 'Not available', text))
    }
  }

  async function answerTo(request: IncomingMessage): Promise<Answer> {
    if ((request.url ?? '').length > MAX_URL_LENGTH) return refusal(414, 'The address is too long.')
    const parsed = consoleRequest(request)
    const { method, path, lacksSlash, mountSegment } = parsed
    if (!['GET', 'HEAD', 'POST'].includes(method)) return notAllowed('GET, HEAD, POST')
    if (path === undefined) return refusal(400, 'The address cannot be decoded.')
    // The links of the pages are relative. The dot keeps a segment with a colon from being taken for a scheme.
    if (lacksSlash && method !== 'POST') return seeOther(`./${mountSegment}/`)
    if (path.startsWith('/assets/')) return assetAt(method, path.slice('/assets/'.length))
    return pageAt(request, parsed, path)
  }

  function assetAt(method: string, name: string): Answer {
    if (method === 'POST') return notAllowed('GET, HEAD')
    const asset = assets.find(name)
    return asset ? assetAnswer(asset) : refusal(404, 'There is no such file.')
  }

  async function pageAt(request: IncomingMessage, parsed: ConsoleRequest, path: string): Promise<Answer> {
    const admission = await access(request, parsed)
    if (admission === 'refused') return refusal(403, 'You are not permitted to use this console.')
    if ('answer' in admission) return admission.answer
    if ('failed' in admission) {
      logFailure(admission.failed)
      return refusal(503, OPERATOR_FAILED)
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
    if (!page.submit) return notAllowed('GET, HEAD')
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

  function refusal(status: number, text: string): Answer {
    return html(parts.renderer.page('message', { title: 'Not available' }, { text }), status)
  }

  function notAllowed(allow: string): Answer {
    return { ...refusal(405, 'This method is not supported here.'), headers: { Allow: allow } }
  }
}

const OPERATOR_FAILED =
  'The function “operator” of this application failed, or what it returned is not an operator. The log of this process has the cause.'
