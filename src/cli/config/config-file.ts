import { isUtf8 } from 'node:buffer'
import { existsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isNativeError } from 'node:util/types'
import { CountersignError } from '../../base/errors.js'
import { jsonErrorLine } from './json-error-line.js'
import { syntaxErrorPlace } from './syntax-error-place.js'
import { isInstance, textProperty } from '../../base/foreign-value.js'
import { isMissing } from '../../base/is-missing.js'
import { accessCure } from '../secret-option.js'

export interface ConfigFile {
  /** Its name in messages. */
  readonly name: string
  /** Its absolute path. */
  readonly path: string
  /** Its content, unchecked. */
  readonly content: unknown
}

const DEFAULT_NAMES = ['countersign.config.mjs', 'countersign.config.json', 'countersign.config.ts']

/**
 * Loads the file with that name, or the default one of the folder.
 * @throws CountersignError ERR_CONFIG_NOT_FOUND, ERR_CONFIG_INVALID
 */
export async function loadConfigFile(name: string | undefined, folder: string): Promise<ConfigFile> {
  const chosen = name ?? defaultName(folder)
  const path = resolve(folder, chosen)
  if (isMissing(path)) {
    throw new CountersignError(
      'ERR_CONFIG_NOT_FOUND',
      `there is no configuration file ${chosen} (${path}): name one that exists.`,
    )
  }
  checkFile(chosen, path, 'name the file in it')
  const content = extname(path) === '.json' ? await readJson(chosen, path) : await importDefault(chosen, path)
  return { name: chosen, path, content }
}

export function hasDefaultConfig(folder: string): boolean {
  return DEFAULT_NAMES.some((name) => existsSync(resolve(folder, name)))
}

/**
 * The exports of a module. @throws CountersignError ERR_CONFIG_INVALID, which names the module that cannot be
 * loaded
 */
export async function importModule(name: string, path: string): Promise<Record<string, unknown>> {
  if (isMissing(path)) throw invalid(`${name} does not exist (${path}).`)
  checkFile(name, path, 'name the module in it')
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (error) {
    throw invalid(`${name} cannot be loaded: ${await reason(error, path)}`, error)
  }
}

/** Imports a package that the application installs. @throws CountersignError ERR_CONFIG_INVALID */
export async function optionalPackage<Module>(
  option: string,
  name: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    throw invalid(
      `${option} needs the package ${name}, which cannot be loaded. Run "npm install ${name}".`,
      error,
    )
  }
}

/** @throws CountersignError ERR_CONFIG_INVALID if it is a folder, or in a folder that this user may not enter */
function checkFile(name: string, path: string, cureOfFolder: string): void {
  let isFolder
  try {
    isFolder = statSync(path).isDirectory()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw invalid(`${name} cannot be read (${code})${accessCure(code)}.`, error)
  }
  if (isFolder) throw invalid(`${name} is a folder (${path}): ${cureOfFolder}.`)
}

function defaultName(folder: string): string {
  const [name, other] = DEFAULT_NAMES.filter((each) => existsSync(resolve(folder, each)))
  if (other) throw invalid(`both ${name} and ${other} are in ${folder}: name one with --config.`)
  if (name) return name
  const message =
    `there is no countersign.config.mjs or countersign.config.json in ${folder}: write one, or name one with --config. ` +
    'countersign.config.ts works as well if Node loads TypeScript.'
  throw new CountersignError('ERR_CONFIG_NOT_FOUND', message)
}

async function importDefault(name: string, path: string): Promise<unknown> {
  const module = await importModule(name, path)
  if ('default' in module) return module['default']
  throw invalid(`${name} has no default export: write "export default { subscriptions: [...] }".`)
}

async function readJson(name: string, path: string): Promise<unknown> {
  let bytes
  try {
    bytes = await readFile(path)
  } catch (error) {
    throw invalid(`${name} cannot be read: ${described(error)}`, error)
  }
  if (!isUtf8(bytes)) throw invalid(`${name} is not UTF-8: save it as UTF-8.`)
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  try {
    return JSON.parse(text)
  } catch {
    // Not the parser's own message, which quotes the text and may contain a secret.
    throw invalid(`${name} is not JSON (line ${jsonErrorLine(text)}).`)
  }
}

async function reason(error: unknown, path: string): Promise<string> {
  const message = described(error)
  if (/Unknown file extension "\.[mc]?ts"/.test(message)) {
    return (
      `Node ${process.versions.node} does not load TypeScript. Use Node 22.18 or later, compile the file, or write ` +
      'it as JavaScript (.mjs).'
    )
  }
  if (message.includes('Unknown file extension'))
    return 'it is neither a module nor JSON: write it as .mjs, .js, .cjs or .json.'
  if (!isInstance(error, SyntaxError)) return message
  const place = await syntaxErrorPlace(path)
  return place === undefined ? message : `${message} (${place})`
}

function described(error: unknown): string {
  return isNativeError(error)
    ? `${textProperty(error, 'name')}: ${textProperty(error, 'message')}`
    : 'it threw something that is not an error.'
}

function invalid(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_CONFIG_INVALID', message, cause === undefined ? undefined : { cause })
}
