import { accessSync, constants, lstatSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { HasAll } from '../base/has-all.js'
import { checkKnownOptions, integerOption, invalidOption, wrongOption } from '../base/option-checks.js'
import { refuseSurroundingSpace } from '../base/surrounding-space.js'
import { folderProblem } from './capture-folder.js'

/** Writes requests to files, for `countersign verify` and for fixtures. */
export interface CaptureOptions {
  /**
   * Where the files are written. It is created with mode 700. An existing folder must belong to the user of the process,
   * and nobody else may read it.
   */
  readonly folder: string
  /** `refused`: requests that were refused. `all`: every request. @default 'refused' */
  readonly what?: 'refused' | 'all' | undefined
  /** How many requests are kept: 1 to 10,000. Above it the oldest is removed. @default 100 */
  readonly keep?: number | undefined
  /** How many bytes the files may have together, at least 1,024. Above it the oldest is removed. @default 16_777_216 (16 MiB) */
  readonly maxBytes?: number | undefined
  /** How many requests that were not verified are written per second and code, at least 1. @default 10 */
  readonly perSecond?: number | undefined
  /**
   * Whether signatures and other credentials are written as they arrived. Whoever can read the files can then send the
   * callbacks again. @default false: signatures are replaced by salted digests
   */
  readonly keepSignatures?: boolean | undefined
}

/** `CaptureOptions`, checked and with defaults. */
export type CaptureSettings = Required<{
  readonly [Name in keyof CaptureOptions]: NonNullable<CaptureOptions[Name]>
}>

const KNOWN = [
  'folder',
  'what',
  'keep',
  'maxBytes',
  'perSecond',
  'keepSignatures',
] as const satisfies readonly (keyof CaptureOptions)[]
void (true satisfies HasAll<keyof CaptureOptions, typeof KNOWN>)

/** Undefined if nothing is captured. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function captureOption(owner: string, value: CaptureOptions | undefined): CaptureSettings | undefined {
  if (value === undefined) return undefined
  const place = (name: string) => ({ option: 'capture', part: `capture.${name}` })
  checkKnownOptions(owner, value, KNOWN, { option: 'capture', part: 'capture' })
  const { folder, what = 'refused', keepSignatures = false } = value
  if (typeof folder !== 'string' || folder === '')
    throw invalidOption(owner, place('folder'), folder, 'pass the path of a folder')
  refuseSurroundingSpace(owner, place('folder'), folder, { mayBeShown: true })
  if (what !== 'refused' && what !== 'all')
    throw invalidOption(owner, place('what'), what, 'use "refused" or "all"')
  if (typeof keepSignatures !== 'boolean')
    throw invalidOption(owner, place('keepSignatures'), keepSignatures, 'use true or false')
  const problem = problemOf(folder)
  if (problem !== undefined) throw wrongOption(owner, 'capture', `capture.folder: ${problem}.`)
  const number = (name: 'keep' | 'maxBytes' | 'perSecond', limits: Parameters<typeof integerOption>[3]) =>
    integerOption(owner, place(name), value[name], limits)
  return {
    folder,
    what,
    keep: number('keep', { fallback: 100, min: 1, max: 10_000 }),
    maxBytes: number('maxBytes', { fallback: 16_777_216, min: 1_024 }),
    perSecond: number('perSecond', { fallback: 10, min: 1 }),
    keepSignatures,
  }
}

/** What keeps requests from being written there, as far as it can be seen without creating the folder. */
function problemOf(folder: string): string | undefined {
  let place = resolve(folder)
  for (;;) {
    try {
      const stats = lstatSync(place)
      const problem = place === resolve(folder) ? folderProblem(stats, folder) : undefined
      if (problem === undefined) accessSync(place, constants.W_OK | constants.X_OK)
      return problem
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // On Windows a drive may not exist.
      if (code !== 'ENOENT' || dirname(place) === place)
        return `${place} cannot be written (${code}): choose another folder, or change its mode`
      place = dirname(place)
    }
  }
}
