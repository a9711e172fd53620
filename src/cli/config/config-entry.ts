import { printable } from '../../base/printable.js'

/** A reference to a secret in the configuration; undefined if the configuration has its text, which is not repeated. */
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

/**
 * No configuration accepts this text. A user who pastes it unchanged gets an error, instead of a receiver without
 * that secret.
 */
const UNCHANGED = '<what stands here now>'

/** An item of `subscriptions`, in the syntax of countersign.config.mjs. */
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
