import type { CallbackEvent } from '../callback/callback.js'
import type { StandardIssue, StandardSchema } from './standard-schema.js'

/** The event with the payload that its schema returned. @throws PayloadInvalidError */
export async function applySchema(event: CallbackEvent, schema: StandardSchema): Promise<CallbackEvent> {
  const result = await schema['~standard'].validate(event.payload)
  if (result.issues) throw new PayloadInvalidError(result.issues)
  return { ...event, payload: result.value as CallbackEvent['payload'] }
}

/** Says where the payload does not match, never which value is there: the message is logged, and a body must not be. */
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
