import { hash } from 'node:crypto'

export interface Script {
  readonly source: string
  /** The server finds a script that it has run before by this hash. */
  readonly sha1: string
}

// For a callback with the key K and the signature S, each as the first 22 characters of its SHA-256 or HMAC in Base64
// (132 bits):
//
//   {prefix}:c:K  hash     the claim: token, body, until and signatures while it may complete, and the number of attempts
//   {prefix}:h:S  string   K and `until` of the claim that holds S
//   {prefix}:k:K  string   completed: the body and the newest signature
//   {prefix}:s:S  string   completed: K
//
// The claim outlives its lease: a late end is accepted as long as nobody else has claimed the key. Leases are compared with
// the server's TIME, because the expiry of two records is not checked at the same instant by every version of Redis.
// The keys of the signatures are derived within the scripts: only the claim's record knows all of them. All keys are in
// one slot, see RedisIdempotencyStore.
//
// A script is run for a batch of callbacks, one after the other, as if it had been run for each alone. An error of one of them,
// such as WRONGTYPE, is its reply. As an error of the command it would concern the others too, and scripts are not rolled back.
const SHARED = `
local base = string.sub(KEYS[1], 1, -25)
local retentionMs = ARGV[1]
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function number(milliseconds)
  return string.format('%.0f', milliseconds)
end
local function each(signatures, visit)
  for at = 1, #signatures, 22 do visit(string.sub(signatures, at, at + 21)) end
end
`

/** Argument: body, token (36 characters), leaseMs. Replies with the state; of a new claim also with attempt and end of lease. */
export const CLAIM = script(
  ['claimKey', 'completedKey', 'holderKey', 'signatureKey'],
  `
local signature = string.sub(holderKey, -22)
local body, token, leaseMs = string.sub(argument, 1, 22), string.sub(argument, 23, 58), string.sub(argument, 59)
local now = now()
local claim = redis.call('HMGET', claimKey, 'token', 'body', 'until', 'signatures', 'attempt')
local completed = redis.call('GET', completedKey)
local holder = redis.call('GET', holderKey)
local completedUnder = redis.call('GET', signatureKey)
local running = claim[1] and tonumber(claim[3]) > now
local held = holder and tonumber(string.sub(holder, 23)) > now
  -- The claim of this key has ended: while a cluster moves the slot, the end of a claim may not find its holders.
  and (running or string.sub(holder, 1, 22) ~= key)

-- The client sent the command again, as it did not get the reply.
if running and claim[1] == token then return 'claimed ' .. claim[5] .. ' ' .. claim[3] end

local knownKey, knownSignature = 'unknown', 'unknown'
if running then
  knownKey = claim[2] == body and 'same-body' or 'other-body'
elseif completed then
  knownKey = string.sub(completed, 1, 22) == body and 'same-body' or 'other-body'
end
if held then
  knownSignature = running and string.sub(holder, 1, 22) == key and 'same-key' or 'other-key'
elseif not running and completed == body .. signature then
  -- First by the record of the key: a late end can leave one signature completed under two keys.
  knownSignature = 'same-key'
elseif completedUnder then
  knownSignature = completedUnder == key and 'same-key' or 'other-key'
end

-- The precedence of recognise() in callback/recognition.ts. A test compares them.
if knownKey == 'same-body' and knownSignature == 'same-key' then
  -- a duplicate
elseif knownKey == 'other-body' then
  return 'conflict'
elseif knownSignature ~= 'unknown' then
  return 'replay'
elseif knownKey == 'unknown' then
  local attempt = (tonumber(claim[5]) or 0) + 1
  local leaseEnd = now + tonumber(leaseMs)
  redis.call('HSET', claimKey, 'token', token, 'body', body, 'until', number(leaseEnd), 'signatures', signature,
    'attempt', attempt)
  redis.call('PEXPIREAT', claimKey, number(leaseEnd + tonumber(retentionMs)))
  redis.call('SET', holderKey, key .. number(leaseEnd), 'PX', leaseMs)
  return 'claimed ' .. attempt .. ' ' .. number(leaseEnd)
end

if running then
  if not held then
    redis.call('HSET', claimKey, 'signatures', claim[4] .. signature)
    redis.call('SET', holderKey, key .. claim[3], 'PX', number(tonumber(claim[3]) - now))
  end
  return 'in-progress'
end
if knownSignature == 'unknown' then
  redis.call('SET', completedKey, body .. signature, 'PX', retentionMs)
  redis.call('SET', signatureKey, key, 'PX', retentionMs)
end
return 'completed'
`,
)

// ioredis sends a command again if the connection failed before the reply. COMPLETE must then reply `completed` again, although
// its first run has deleted the claim. This is safe because until the lease of a claim ends, only its own completion can make
// its key completed: CLAIM grants no claim of a completed key, and no second claim while a lease runs. RELEASE ends a lease early,
// so a caller that has released sends 0 as the end.
// There are two exceptions: the server's clock was set back, or the server lost the claim (failover, eviction). A caller may then
// be told `completed` although another caller completed the key with the same body. This changes no record, and the
// callback is recorded as handled.

/** Argument: body, token (36 characters), end of the lease. Replies with completed or lost. */
export const COMPLETE = script(
  ['claimKey', 'completedKey'],
  `
local body, token, leaseEnd = string.sub(argument, 1, 22), string.sub(argument, 23, 58), string.sub(argument, 59)
local claim = redis.call('HMGET', claimKey, 'token', 'body', 'signatures')
if claim[1] ~= token then
  local completed = redis.call('GET', completedKey)
  local isOwn = completed and string.sub(completed, 1, 22) == body and now() < tonumber(leaseEnd)
  return isOwn and 'completed' or 'lost'
end
-- First of the writes: when the memory is full, Redis lets a script write that has already deleted something.
redis.call('DEL', claimKey)
local newest
each(claim[3], function(signature)
  newest = signature
  redis.call('SET', base .. 's:' .. signature, key, 'PX', retentionMs)
  local holder = redis.call('GET', base .. 'h:' .. signature)
  if holder and string.sub(holder, 1, 22) == key then redis.call('DEL', base .. 'h:' .. signature) end
end)
redis.call('SET', completedKey, claim[2] .. newest, 'PX', retentionMs)
return 'completed'
`,
)

/** Argument: token. Replies with released or lost. */
export const RELEASE = script(
  ['claimKey'],
  `
local claim = redis.call('HMGET', claimKey, 'token', 'signatures')
if claim[1] ~= argument then return 'lost' end
redis.call('HDEL', claimKey, 'token', 'body', 'until', 'signatures')
redis.call('PEXPIRE', claimKey, retentionMs)
each(claim[2], function(signature)
  local holder = redis.call('GET', base .. 'h:' .. signature)
  if holder and string.sub(holder, 1, 22) == key then redis.call('DEL', base .. 'h:' .. signature) end
end)
return 'released'
`,
)

/** KEYS: `keys` of each callback. ARGV: retentionMs, and an argument of each callback. Replies with a line for each. */
function script(keys: readonly string[], steps: string): Script {
  const source = `${SHARED}
local function run(argument, ${keys.join(', ')})
local key = string.sub(claimKey, -22)
${steps.trim()}
end

local replies = {}
for nth = 1, #ARGV - 1 do
  local at = (nth - 1) * ${keys.length}
  local isDone, reply = pcall(run, ARGV[nth + 1], ${keys.map((_, index) => `KEYS[at + ${index + 1}]`).join(', ')})
  if not isDone then
    local text = string.gsub(type(reply) == 'table' and reply.err or reply, '%s+', ' ')
    local readOnly = string.match(text, 'READONLY .*')
    if readOnly then return redis.error_reply(readOnly) end
    reply = 'error ' .. text
  end
  replies[nth] = reply
end
return table.concat(replies, '\\n')
`
  return { source, sha1: hash('sha1', source, 'hex') }
}
