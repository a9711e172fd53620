import { textProperty } from '../../base/foreign-value.js'
import { textOf, type SendCommand } from './redis-client.js'
import type { Script } from './scripts.js'

/** What a script is run for: one callback. */
export interface ScriptItem {
  readonly keys: readonly [string, ...string[]]
  readonly argument: string
}

interface ScriptCall {
  readonly items: readonly ScriptItem[]
  readonly retentionMs: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Runs a script by its hash, for all items in one command. A server that does not have it, such as after a restart, is sent its
 * source. Resolves to the replies in the order of the items.
 */
export async function runScript(
  send: SendCommand,
  { source, sha1 }: Script,
  { items, retentionMs, signal }: ScriptCall,
): Promise<readonly string[]> {
  const keys: string[] = []
  const args: string[] = []
  for (const item of items) {
    keys.push(...item.keys)
    args.push(item.argument)
  }
  const rest = [String(keys.length), ...keys, String(retentionMs), ...args]
  // All are in one slot: a cluster may choose the node by any of them.
  const key = keys[0] ?? ''
  let reply: unknown
  try {
    reply = await send(['EVALSHA', sha1, ...rest], key, signal)
  } catch (error) {
    if (!textProperty(error, 'message')?.startsWith('NOSCRIPT')) throw error
    reply = await send(['EVAL', source, ...rest], key, signal)
  }
  const replies = textOf(reply).split('\n')
  if (replies.length === items.length) return replies
  throw new TypeError(
    `Redis replied with ${replies.length} lines where the states of ${items.length} callbacks were expected`,
  )
}
