import { createHash, timingSafeEqual } from 'node:crypto'
import { checkKnownOptions, invalidOption, partOf, type OptionPart } from '../../base/option-checks.js'
import { isOperatorName } from '../../inbox/operator-action.js'
import type { ConsoleRole, Operator } from '../operator.js'

export interface ConsoleUserOptions {
  /** The name that the history of an entry has for a decision of this user. 1 to 100 characters. */
  readonly name: string
  /** 12 to 1,000 characters. */
  readonly password: string
  /** `view`: see the pages. `decide`: also retry, release, discard and undo. */
  readonly role: ConsoleRole
}

interface ConsoleUser {
  readonly operator: Operator
  readonly passwordHash: Buffer
}

const MIN_PASSWORD = 12
const MAX_PASSWORD = 1_000
const MAX_USERS = 1_000
const NOBODY = hashOf('')

/** The users who may sign in. */
export class ConsoleUsers {
  readonly #users: ReadonlyMap<string, ConsoleUser>

  /** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
  constructor(owner: string, place: OptionPart, users: readonly ConsoleUserOptions[]) {
    const cure = `use a list of at most ${MAX_USERS} objects { name, password, role }`
    if (!Array.isArray(users) || users.length > MAX_USERS) throw invalidOption(owner, place, users, cure)
    const byName = new Map<string, ConsoleUser>()
    for (const [index, options] of users.entries()) {
      const user = parseUser(owner, { ...place, part: `${place.part}[${index}]` }, options)
      const { name } = user.operator
      const twice = `a list with ${JSON.stringify(name)} twice`
      if (byName.has(name)) throw invalidOption(owner, place, undefined, 'give each user another name', twice)
      byName.set(name, user)
    }
    this.#users = byName
  }

  get count(): number {
    return this.#users.size
  }

  has(name: string): boolean {
    return this.#users.has(name)
  }

  /** The user of this name, if the password is right. An unknown name takes the same time as a wrong password. */
  find(name: string, password: string): Operator | undefined {
    const user = this.#users.get(name)
    const isRight = timingSafeEqual(hashOf(password), user?.passwordHash ?? NOBODY)
    return isRight ? user?.operator : undefined
  }
}

function parseUser(owner: string, place: OptionPart, options: ConsoleUserOptions): ConsoleUser {
  checkKnownOptions(owner, options, ['name', 'password', 'role'], place)
  const { name, password, role } = options
  if (!isOperatorName(name)) {
    const cure = 'use 1 to 100 characters, without control characters'
    throw invalidOption(owner, partOf(place, 'name'), name, cure)
  }
  if (role !== 'view' && role !== 'decide')
    throw invalidOption(owner, partOf(place, 'role'), role, 'use "view" or "decide"')
  if (typeof password !== 'string' || password.length < MIN_PASSWORD || password.length > MAX_PASSWORD) {
    const cure = `use ${MIN_PASSWORD} to ${MAX_PASSWORD} characters, such as the output of "openssl rand -base64 18"`
    const shown =
      typeof password === 'string' ? `a text of ${password.length} characters` : `of type ${typeof password}`
    throw invalidOption(owner, partOf(place, 'password'), undefined, cure, shown)
  }
  // Such as the line end of the variable or the file that it was read from.
  if (/\p{Cc}/u.test(password)) {
    const cure = 'leave out control characters, such as a line end: nobody can type them in a browser'
    const shown = `a text of ${password.length} characters with a control character`
    throw invalidOption(owner, partOf(place, 'password'), undefined, cure, shown)
  }
  return { operator: { name, role }, passwordHash: hashOf(password) }
}

/** `timingSafeEqual` needs values of one length. A fast hash is enough: the hash is never stored. */
function hashOf(password: string): Buffer {
  return createHash('sha256').update(password).digest()
}
