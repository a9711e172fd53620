import { hash } from 'node:crypto'

export interface Script {
  readonly source: string
  /** By which a server finds a script that it has run before. */
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
const SHARED = `
local base = string.sub(KEYS[1], 1, -25)
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

/** KEYS: c, k, h, s. ARGV: K, body, S, token, leaseMs, retentionMs. Replies with the state, and with the attempt if claimed. */
export const CLAIM = script(`
local key, body, signature, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local now = now()
local claim = redis.call('HMGET', KEYS[1], 'token', 'body', 'until', 'signatures', 'attempt')
local completed = redis.call('GET', KEYS[2])
local holder = redis.call('GET', KEYS[3])
local completedUnder = redis.call('GET', KEYS[4])
local running = claim[1] and tonumber(claim[3]) > now
local held = holder and tonumber(string.sub(holder, 23)) > now

-- The client sent the command again, as it did not get the reply.
if running and claim[1] == token then return 'claimed ' .. claim[5] end

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
  local leaseEnd = now + tonumber(ARGV[5])
  redis.call('HSET', KEYS[1], 'token', token, 'body', body, 'until', number(leaseEnd), 'signatures', signature,
    'attempt', attempt)
  redis.call('PEXPIREAT', KEYS[1], number(leaseEnd + tonumber(ARGV[6])))
  redis.call('SET', KEYS[3], key .. number(leaseEnd), 'PX', ARGV[5])
  return 'claimed ' .. attempt
end

if running then
  if not held then
    redis.call('HSET', KEYS[1], 'signatures', claim[4] .. signature)
    redis.call('SET', KEYS[3], key .. claim[3], 'PX', number(tonumber(claim[3]) - now))
  end
  return 'in-progress'
end
if knownSignature == 'unknown' then
  redis.call('SET', KEYS[2], body .. signature, 'PX', ARGV[6])
  redis.call('SET', KEYS[4], key, 'PX', ARGV[6])
end
return 'completed'
`)

/** KEYS: c, k. ARGV: K, token, retentionMs. Replies with completed or lost. */
export const COMPLETE = script(`
local key = ARGV[1]
local claim = redis.call('HMGET', KEYS[1], 'token', 'body', 'signatures')
if claim[1] ~= ARGV[2] then return 'lost' end
-- First of the writes: when the memory is full, Redis lets a script write that has already deleted something.
redis.call('DEL', KEYS[1])
local newest
each(claim[3], function(signature)
  newest = signature
  redis.call('SET', base .. 's:' .. signature, key, 'PX', ARGV[3])
  local holder = redis.call('GET', base .. 'h:' .. signature)
  if holder and string.sub(holder, 1, 22) == key then redis.call('DEL', base .. 'h:' .. signature) end
end)
redis.call('SET', KEYS[2], claim[2] .. newest, 'PX', ARGV[3])
return 'completed'
`)

/** KEYS: c. ARGV: K, token, retentionMs. Replies with released or lost. */
export const RELEASE = script(`
local claim = redis.call('HMGET', KEYS[1], 'token', 'signatures')
if claim[1] ~= ARGV[2] then return 'lost' end
redis.call('HDEL', KEYS[1], 'token', 'body', 'until', 'signatures')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
each(claim[2], function(signature)
  local holder = redis.call('GET', base .. 'h:' .. signature)
  if holder and string.sub(holder, 1, 22) == ARGV[1] then redis.call('DEL', base .. 'h:' .. signature) end
end)
return 'released'
`)

function script(steps: string): Script {
  const source = SHARED + steps
  return { source, sha1: hash('sha1', source, 'hex') }
}
