import { dirname, resolve } from 'node:path'
import type { ConfigFile } from './config-file.js'

/** A relative folder starts from that of the configuration, as the file of the inbox does. Anything else is checked later. */
export function captureSetting(capture: unknown, { path }: ConfigFile): { capture?: object } {
  if (typeof capture !== 'object' || capture === null || !('folder' in capture)) return {}
  const { folder } = capture
  if (typeof folder !== 'string' || folder === '') return {}
  return { capture: { ...capture, folder: resolve(dirname(path), folder) } }
}
