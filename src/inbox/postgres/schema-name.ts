import { invalidOption } from '../../base/option-checks.js'
import { refuseSurroundingSpace } from '../../base/surrounding-space.js'

export const DEFAULT_SCHEMA = 'countersign'

/**
 * A name that PostgreSQL takes for a schema as it is: it shortens longer ones, and replaces `$user` in a search path by the
 * name of the role even if it is quoted.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function schemaName(owner: string, schema: string = DEFAULT_SCHEMA): string {
  const isPossible = isIdentifier(schema) && !schema.startsWith('pg_') && !RESERVED.includes(schema)
  if (!isPossible) throw invalidOption(owner, 'schema', schema, CURE)
  // A name that was read with its line end would be that of another, empty inbox.
  refuseSurroundingSpace(owner, 'schema', schema, { mayBeShown: true })
  return schema
}

/**
 * The name of a role. PostgreSQL takes `public` for every role even if it is quoted.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function roleName(owner: string, role: string): string {
  if (isIdentifier(role) && role !== 'public' && role !== 'none') return role
  const cure = 'use the name of one role, of 1 to 63 bytes without U+0000, and neither public nor none'
  throw invalidOption(owner, 'role', role, cure)
}

const RESERVED = ['information_schema', '$user']
const CURE =
  'use a name of 1 to 63 bytes without U+0000 that does not begin with pg_ and is neither information_schema nor $user'

function isIdentifier(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && Buffer.byteLength(name) <= 63 && !name.includes('\0')
}
