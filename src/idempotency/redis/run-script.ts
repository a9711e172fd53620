import { textProperty } from '../../base/foreign-value.js'
import { textOf, type SendCommand } from './redis-client.js'
import type { Script } from './scripts.js'

interface ScriptCall {
  /** The first one is the key by which a cluster chooses the node. */
  readonly keys: readonly [string, ...string[]]
  readonly args: readonly string[]
  readonly signal?: AbortSignal
}

/** Runs a script by its hash. A server that does not have it, such as after a restart, is sent its source. */
export async function runScript(
  send: SendCommand,
  { source, sha1 }: Script,
  { keys, args, signal }: ScriptCall,
): Promise<string> {
  const rest = [String(keys.length), ...keys, ...args]
  try {
    return textOf(await send(['EVALSHA', sha1, ...rest], keys[0], signal))
  } catch (error) {
    if (!textProperty(error, 'message')?.startsWith('NOSCRIPT')) throw error
    return textOf(await send(['EVAL', source, ...rest], keys[0], signal))
  }
}
