import { printable } from '../../base/printable.js'

/** A secret as the configuration may refer to it; undefined where it stands there as it is, which is not repeated. */
export type SecretReference =
  { readonly env: string } | { readonly file: string; readonly followSymbolicLinks?: boolean } | undefined

export interface ConfigEntry {
  readonly id?: string | undefined
  readonly eventTypeName: string
  readonly callbackUrl: string
  readonly description?: string | undefined
  /** One, or several while a secret is being replaced. */
  readonly secrets: readonly SecretReference[]
}

/** What no configuration takes: who pastes it without a look gets an error, and not a receiver without that secret. */
const UNCHANGED = '<what stands here now>'

/** An item of `subscriptions`, as it is written in countersign.config.mjs. */
export function readableEntry({ id, eventTypeName, callbackUrl, description, secrets }: ConfigEntry): string {
  const references = secrets.map((reference) => {
    if (reference === undefined) return UNCHANGED
    const parts = Object.entries(reference).map(
      ([name, value]) => `${name}: ${typeof value === 'string' ? quoted(value) : String(value)}`,
    )
    return `{ ${parts.join(', ')} }`
  })
  return [
    '{',
    ...(id === undefined ? [] : [`  id: ${quoted(id)},`]),
    `  eventTypeName: ${quoted(eventTypeName)},`,
    `  callbackUrl: ${quoted(callbackUrl)},`,
    ...(description === undefined ? [] : [`  description: ${quoted(description)},`]),
    `  secret: ${references.length === 1 ? references[0] : `[${references.join(', ')}]`},`,
    '},',
    '',
  ].join('\n')
}

/** The same for countersign.config.json. */
export function jsonEntry({ secrets, ...entry }: ConfigEntry): object {
  const references = secrets.map((reference) => reference ?? UNCHANGED_JSON)
  return { ...entry, secret: references.length === 1 ? references[0] : references }
}

const UNCHANGED_JSON = { unchanged: UNCHANGED }

function quoted(text: string): string {
  const json = printable(JSON.stringify(text))
  return json.includes("'") || json.includes('\\') ? json : `'${json.slice(1, -1)}'`
}
