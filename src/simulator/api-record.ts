import { textMask } from '../base/mask-texts.js'
import { isUuid } from '../base/uuid.js'
import { headerValues } from '../testing/http-message.js'
import { formFields, mediaType, parseJson, type ApiCall } from './api-call.js'
import type { ApiRequest, Endpoint } from './api-types.js'

/** Only these fields are shown: any other field, or a misspelled one, may contain a secret. */
const SHOWN: Readonly<Record<Endpoint, Readonly<Record<string, (value: unknown) => boolean>>>> = {
  token: {
    grant_type: (value) => value === 'client_credentials',
    // A client that confuses the two sends its secret here.
    client_Id: isUuid,
  },
  subscription: { eventTypeName: () => true, callbackUrl: () => true, description: () => true },
  account: { name: () => true, searchable: () => true },
  none: {},
}

/** Without letter case and punctuation, which clients often get wrong. */
const NAMES: ReadonlySet<string> = new Set(
  [
    'grant_type',
    'client_Id',
    'client_Secret',
    'eventTypeName',
    'callbackUrl',
    'secretText',
    'secret',
    'description',
    'name',
    'searchable',
  ].map(bare),
)

/**
 * Replaces a name that the service does not have. In a body of another form than its Content-Type, the whole body
 * may be one name.
 */
const OTHER_NAME = '(another name)'
const MAX_FIELDS = 20
const MAX_SHOWN_CHARACTERS = 300

/** The part of a request that may be recorded. `secrets` are removed everywhere. */
export function describeCall(call: ApiCall, secrets: readonly string[]): ApiRequest {
  const { endpoint, method, path, rawHeaders, body } = call
  const all = body && fieldsIn(body, mediaType(rawHeaders))
  const fields = all?.slice(0, MAX_FIELDS)
  const mask = textMask([...secrets, ...tokensIn(rawHeaders), ...secretsIn(all ?? [])])
  const shownText = (text: string) => mask(text).slice(0, MAX_SHOWN_CHARACTERS)
  const shown = fields
    ?.filter(([name, value]) => Object.hasOwn(SHOWN[endpoint], name) && SHOWN[endpoint][name]!(value))
    .filter(([, value]) => isShort(value))
    .map(([name, value]) => [name, typeof value === 'string' ? mask(value) : value] as const)
  const header = (name: string) => headerValues(rawHeaders, name).slice(0, 1).map(shownText)[0]
  return {
    method,
    path: shownPath(endpoint, path, shownText),
    endpoint,
    contentType: header('content-type'),
    idempotencyKey: header('x-idempotency-key'),
    hasToken: headerValues(rawHeaders, 'authorization').some((value) => /^bearer /i.test(value)),
    fields: fields?.map(([name]) =>
      NAMES.has(bare(name)) ? name.slice(0, MAX_SHOWN_CHARACTERS) : OTHER_NAME,
    ),
    values: Object.fromEntries(shown ?? []),
  }
}

function fieldsIn(body: Buffer, type: string | undefined): [string, unknown][] | undefined {
  if (type === 'application/x-www-form-urlencoded') return [...formFields(body)]
  if (type !== 'application/json') return undefined
  const value = parseJson(body)
  return typeof value === 'object' && value !== null ? Object.entries(value) : undefined
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[_\-. ]/g, '')
}

function tokensIn(rawHeaders: readonly string[]): string[] {
  return headerValues(rawHeaders, 'authorization').map((value) => value.replace(/^\S+ +/, ''))
}

/** The secrets of the request itself, which may be repeated in a field that is shown. */
function secretsIn(fields: readonly (readonly [string, unknown])[]): string[] {
  return fields.flatMap(([name, value]) => {
    if (typeof value !== 'string' || !/secret|token|password/i.test(name)) return []
    const text = Buffer.from(value, 'base64')
    return text.toString('base64') === value ? [value, text.toString('utf8')] : [value]
  })
}

/** An unknown path may be a known one with the parameters of a body in it. */
function shownPath(endpoint: Endpoint, path: string, shownText: (text: string) => string): string {
  if (endpoint === 'token' || endpoint === 'subscription') return path
  return shownText(endpoint === 'none' ? path.replaceAll(/[^/]*(?:[=&;?]|%3f|%3d|%26)[^/]*/gi, '…') : path)
}

function isShort(value: unknown): boolean {
  return typeof value === 'string' ? value.length <= MAX_SHOWN_CHARACTERS : typeof value !== 'object'
}
