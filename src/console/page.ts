import type { InboxOperations } from '../inbox/operations.js'
import type { Logger } from '../logging/logger.js'
import type { Answer } from './answer.js'
import type { ConsoleRequest } from './console-request.js'
import type { Operator } from './operator.js'
import type { ProcessActivity } from './process-activity.js'
import type { Frame, Renderer } from './renderer.js'
import type { InboxReading } from './inbox-reading.js'

/** What all pages of a console share. */
export interface ConsoleParts {
  readonly inbox: InboxOperations
  readonly reading: InboxReading
  /** What the receiver or worker of this process has reported; undefined if the console has only an inbox. */
  readonly activity: ProcessActivity | undefined
  readonly renderer: Renderer
  /** Which role may see bodies. */
  readonly bodies: BodyAccess
  /** Whether a decision needs a reason. */
  readonly reasonRequired: boolean
  readonly clock: () => number
  readonly logger: Logger
}

export type BodyAccess = 'decide' | 'view' | 'never'

/** One request of an operator. */
export interface Visit {
  readonly request: ConsoleRequest
  readonly operator: Operator
  /** The token that the forms of the page contain. */
  readonly formToken: string
  /** Values for the layout: the operator, and the token of the sign-out form. */
  readonly frame: Pick<Frame, 'operator' | 'token'>
}

/** Answers a GET with a page or a fragment of a page. */
export type ReadPage = (parts: ConsoleParts, visit: Visit) => Promise<Answer>

/** Answers a submitted form. The token and the origin of the form are already checked. */
export type SubmitPage = (parts: ConsoleParts, visit: Visit, fields: URLSearchParams) => Promise<Answer>
