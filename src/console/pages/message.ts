import { html, type Answer } from '../answer.js'
import type { ConsoleParts, Visit } from '../page.js'

/** A page with one sentence. */
export function messagePage(
  { renderer }: Pick<ConsoleParts, 'renderer'>,
  visit: Pick<Visit, 'frame'> | undefined,
  status: number,
  title: string,
  text: string,
): Answer {
  return html(renderer.page('message', { ...visit?.frame, title }, { text }), status)
}
