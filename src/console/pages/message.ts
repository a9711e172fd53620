import { html, type Answer } from '../answer.js'
import type { ConsoleParts, Visit } from '../page.js'

/** A page with one sentence. */
export function messagePage(
  { renderer }: Pick<ConsoleParts, 'renderer'>,
  { request, frame }: Pick<Visit, 'request'> & Partial<Pick<Visit, 'frame'>>,
  status: number,
  title: string,
  text: string,
): Answer {
  return html(renderer.page('message', { ...frame, root: request.root, title }, { text }), status)
}
