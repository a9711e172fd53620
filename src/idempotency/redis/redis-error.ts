import { CountersignError } from '../../base/errors.js'
import { property, textProperty } from '../../base/foreign-value.js'

const NO_RESTART = 'a running process needs no restart'

const DISAGREE = 'Too many Cluster redirections'

/** What to do about an error, by the first word of the reply, and about an error of the clients. */
const CURES: ReadonlyMap<string, string> = new Map([
  ['OOM', `the memory of the Redis server is full: raise its maxmemory; ${NO_RESTART}`],
  ['READONLY', 'the Redis server is a replica: connect to the primary, see "Failover" in docs/redis.md'],
  [
    'NOREPLICAS',
    `fewer replicas are connected than min-replicas-to-write of the Redis server: wait, or start them; ${NO_RESTART}`,
  ],
  ['MISCONF', `the Redis server cannot write to its disk: free space there; ${NO_RESTART}`],
  ['LOADING', `the Redis server still reads its data: wait; ${NO_RESTART}`],
  ['TRYAGAIN', `the Redis cluster moves the keys of the store to another node: wait; ${NO_RESTART}`],
  ['CLUSTERDOWN', `a part of the Redis cluster has no primary: repair the cluster; ${NO_RESTART}`],
  [
    DISAGREE,
    `each node says that another one has the keys of the store: wait, or run "redis-cli --cluster fix"; ${NO_RESTART}`,
  ],
  ['NOPERM', `the user may not run a command: see "Keys, memory, access" in docs/redis.md; ${NO_RESTART}`],
  ['NOAUTH', 'the Redis server wants a password: correct the options of the client'],
  ['WRONGPASS', 'the Redis server refuses the password: correct the options of the client'],
  [
    'WRONGTYPE',
    'another program has written to a key of the store: give the store a prefix of its own, or delete that key',
  ],
])

/**
 * Says what to do about an error that the Redis server replied with. Its text comes first, so that it is still recognised.
 * Other errors are returned as they are, without the arguments of the command.
 */
export function redisError(error: unknown): unknown {
  // ioredis adds them. A log must not have any part of a signature.
  if (property(error, 'command') !== undefined) Reflect.deleteProperty(error as object, 'command')
  const reply = textProperty(error, 'message') ?? ''
  const cure = CURES.get(causeOf(reply))
  if (cure === undefined || error instanceof CountersignError) return error
  return new CountersignError('ERR_STORE_UNAVAILABLE', `${reply.replace(/\.$/, '')}: ${cure}`, {
    cause: error,
  })
}

function causeOf(reply: string): string {
  if (reply.startsWith(DISAGREE)) return DISAGREE
  // For a command within a script. The text depends on the version of the server.
  if (/^ERR (?:ACL failure in script|The user executing the script)/.test(reply)) return 'NOPERM'
  return /^[A-Z]+/.exec(reply)?.[0] ?? ''
}
