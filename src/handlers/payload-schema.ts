import type { CallbackEvent } from '../callback/callback.js'
import type { StandardIssue, StandardSchema } from './standard-schema.js'

/** The event with what its schema made of the payload. @throws PayloadInvalidError */
export async function applySchema(event: CallbackEvent, schema: StandardSchema): Promise<CallbackEvent> {
  const result = await schema['~standard'].validate(event.payload)
  if (result.issues) throw new PayloadInvalidError(result.issues)
  return { ...event, payload: result.value as CallbackEvent['payload'] }
}

/** Says where the payload does not fit, never what is there: the message goes to the log, and a body must not. */
export class PayloadInvalidError extends Error {
  constructor(issues: readonly StandardIssue[]) {
    const places = issues.slice(0, 10).map(({ path }) => {
      const keys = (path ?? []).map((key) => String(typeof key === 'object' ? key.key : key))
      return keys.join('.').slice(0, 100) || 'the payload itself'
    })
    super(`the payload does not fit its schema at: ${places.join(', ')}`)
    this.name = 'PayloadInvalidError'
  }
}
