import { dirname, resolve } from 'node:path'
import { refuseSurroundingSpace } from '../../base/surrounding-space.js'
import type { ConfigFile } from './config-file.js'

/** A relative folder starts from that of the configuration, as the file of the inbox does. Anything else is checked later. */
export function captureSetting(capture: unknown, { name, path }: ConfigFile): { capture?: object } {
  if (typeof capture !== 'object' || capture === null || !('folder' in capture)) return {}
  const { folder } = capture
  if (typeof folder !== 'string' || folder === '') return {}
  // Before it is made absolute: after that, the white space at its start is inside the path.
  refuseSurroundingSpace(name, { option: 'capture', part: 'capture.folder' }, folder, { mayBeShown: true })
  return { capture: { ...capture, folder: resolve(dirname(path), folder) } }
}
