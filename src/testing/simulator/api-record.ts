import { isUuid } from '../../uuid.js'
import { headerValues } from '../http-message.js'
import { mediaType, parseJson, type ApiCall } from './api-call.js'
import type { ApiRequest } from './api-types.js'

/** Only these are shown: in any other field, or under a misspelled name, there may be a secret. */
const SHOWN: Readonly<Record<string, (value: unknown) => boolean>> = {
  grant_type: (value) => value === 'client_credentials',
  // Whoever mixes up the two has a secret here.
  client_Id: isUuid,
  eventTypeName: () => true,
  callbackUrl: () => true,
  description: () => true,
  name: () => true,
  searchable: () => true,
}

const MAX_FIELDS = 20
const MAX_SHOWN_CHARACTERS = 300

/** What may be kept of a request. */
export function describeCall({ endpoint, method, path, rawHeaders, body }: ApiCall): ApiRequest {
  const fields = (body && fieldsIn(body, mediaType(rawHeaders)))?.slice(0, MAX_FIELDS)
  const shown = fields?.filter(
    ([name, value]) => Object.hasOwn(SHOWN, name) && isShort(value) && SHOWN[name]!(value),
  )
  return {
    method,
    path: path.slice(0, MAX_SHOWN_CHARACTERS),
    endpoint,
    contentType: headerValues(rawHeaders, 'content-type')[0]?.slice(0, MAX_SHOWN_CHARACTERS),
    idempotencyKey: headerValues(rawHeaders, 'x-idempotency-key')[0]?.slice(0, MAX_SHOWN_CHARACTERS),
    hasToken: headerValues(rawHeaders, 'authorization').some((value) => /^bearer /i.test(value)),
    fields: fields?.map(([name]) => name.slice(0, MAX_SHOWN_CHARACTERS)),
    values: Object.fromEntries(shown ?? []),
  }
}

function fieldsIn(body: Buffer, type: string | undefined): [string, unknown][] | undefined {
  if (type === 'application/x-www-form-urlencoded') return [...new URLSearchParams(body.toString('utf8'))]
  if (type !== 'application/json') return undefined
  const value = parseJson(body)
  return typeof value === 'object' && value !== null ? Object.entries(value) : undefined
}

function isShort(value: unknown): boolean {
  return typeof value === 'string' ? value.length <= MAX_SHOWN_CHARACTERS : typeof value !== 'object'
}
