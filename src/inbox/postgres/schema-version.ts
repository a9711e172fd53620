import { CountersignError } from '../../base/errors.js'
import { SCHEMA_VERSION } from './migrations.js'

/** What the database says of its schema. */
export interface StoredVersion {
  readonly version: number
  /** The oldest version of the schema whose code works on this one as well. */
  readonly compatibleFrom: number
}

/** The columns with which a function of the schema answers the version. */
export interface VersionColumns {
  readonly found_version: number | null
  readonly found_compatible_from: number | null
}

/** @throws CountersignError ERR_INBOX_NEWER, ERR_INBOX_FORBIDDEN */
export function checkVersionColumns(row: VersionColumns, schema: string): void {
  const { found_version: version, found_compatible_from: compatibleFrom } = row
  checkStoredVersion(version === null ? undefined : { version, compatibleFrom: compatibleFrom! }, schema)
}

/**
 * Refuses a schema that this version of the package cannot work on, and one that is empty.
 * @throws CountersignError ERR_INBOX_NEWER, ERR_INBOX_FORBIDDEN
 */
export function checkStoredVersion(found: StoredVersion | undefined, schema: string): void {
  if (!found)
    throw new CountersignError('ERR_INBOX_FORBIDDEN', `schema "${schema}" is empty: open the inbox first`)
  checkCompatible(found, schema)
}

/**
 * Refuses a schema that this version of the package cannot work on. A newer one may be compatible: then old and new processes
 * work beside each other during an update.
 * @throws CountersignError ERR_INBOX_NEWER
 */
export function checkCompatible({ version, compatibleFrom }: StoredVersion, schema: string): void {
  if (SCHEMA_VERSION >= compatibleFrom) return
  const message =
    `schema "${schema}" was migrated by a newer version of Countersign: its version is ${version}, and code for versions ` +
    `before ${compatibleFrom} cannot use it; this one is for version ${SCHEMA_VERSION}. Update this process.`
  throw new CountersignError('ERR_INBOX_NEWER', message)
}
