import { Random } from './random.mjs'

/**
 * The inboxes that are tried, unless one is asked for. Only the SQLite that Node includes lets go of what a killed process had open: on
 * Node 20 the inbox in memory is alone.
 */
export const INBOXES = process.getBuiltinModule?.('node:sqlite') ? ['memory', 'sqlite'] : ['memory']

const COPIES = [
  'repeat',
  'repeat',
  'signed-anew',
  'signed-anew',
  'replay',
  'replay-anew',
  'other-body',
  'forged',
  'other-type',
]

/**
 * What is done to the receivers in one schedule. Everything that the seed decides is decided here, except for the order of what
 * happens at the same time: a plan from which actions are left out is the same schedule without them.
 */
export function planOf(seed, inboxes = INBOXES) {
  const random = new Random(`plan ${seed}`)
  const inbox = new Random(`inbox ${seed}`).one(inboxes)
  const settings = settingsOf(random, inbox)
  const moments = random.happens(0.5) ? [random.next(), random.next()] : []
  const actions = [
    ...callbacksOf(random, moments, settings),
    ...(settings.isCalm ? [] : faultsOf(random, moments, settings)),
    ...decisionsOf(random, moments, settings),
    ...(settings.isCalm ? [] : deletedOf(random, settings)),
  ].sort((one, other) => one.at - other.at)
  return { seed, settings, actions }
}

function settingsOf(random, inbox) {
  const leaseMs = random.one([1_000, 2_000, 4_000])
  // One process without faults, which looks rarely: all that becomes due in it has to wake its worker.
  const isCalm = random.happens(0.3)
  const separate = !isCalm && random.happens(0.4)
  return {
    inbox,
    isCalm,
    receivers: isCalm ? 1 : random.between(1, 2),
    // Receivers without handlers only store.
    workers: separate ? random.between(1, 2) : 0,
    concurrency: random.between(1, 3),
    leaseMs,
    handlerTimeoutMs: random.one([leaseMs * 0.4, leaseMs * 0.8]),
    dependencyTimeoutMs: random.one([500, 2_000]),
    maxAttempts: random.between(2, 4),
    retryDelayMs: random.one([50, 400]),
    maxRetryDelayMs: 1_500,
    pollMs: isCalm ? 20_000 : random.one([300, 1_500]),
    // For how long things are sent, decided and broken. Then all faults end, and everything has to come to an end.
    busyMs: random.one([4_000, 10_000]),
    // Of ended entries. Processes delete old ones when they start.
    retentionMs: random.one([undefined, undefined, 3_000, 6_000]),
    isTransactional: inbox !== 'sqlite' && random.happens(inbox === 'postgres' ? 0.5 : 0.3),
    isOrdered: random.happens(0.4),
    driftOf: [0, 0, 0, 0, 0].map(() => random.one([0, 0, 0.001, -0.001])),
    offsetsMs: [0, 0, 0, 0, 0].map(() => random.one([0, 0, 40, -40, 900])),
    slowMs: isCalm ? 0 : random.one([0, 0, 5, 60]),
  }
}

/** Shortly after one of the moments at which most things happen, or at any time. */
function timeOf(random, { busyMs }, moments, withinMs) {
  const at = moments.length > 0 ? random.one(moments) : random.next()
  return at * busyMs + random.next() * withinMs
}

function callbacksOf(random, moments, settings) {
  const actions = []
  const callbacks = random.between(2, 9)
  for (let number = 0; number < callbacks; number++) {
    const at = timeOf(random, settings, moments, random.one([0, 5, 100]))
    const type = random.happens(0.1) ? 'unhandled' : 'transfer'
    const callback = {
      number,
      type,
      // Whatever came after one without a handler would wait for ever, as it should.
      orderKey:
        settings.isOrdered && type === 'transfer' && random.happens(0.7) ? random.one(['a', 'b']) : undefined,
      // What the handlers do in each attempt; the last one is repeated.
      attempts: attemptsOf(random),
    }
    actions.push({ at, do: 'send', callback, as: 'new' })
    const copies = random.one([0, 0, 0, 1, 1, 2, 4])
    for (let copy = 0; copy < copies; copy++)
      actions.push({
        at: random.happens(0.4) ? at : at + random.next() * random.one([5, 500, settings.busyMs]),
        do: 'send',
        callback,
        as: random.one(COPIES),
      })
  }
  return actions
}

function attemptsOf(random) {
  const attempts = []
  for (let number = random.one([0, 0, 0, 1, 2, 5]); number >= 0; number--)
    attempts.push({
      takesMs: random.one([0, 1, 20, 300, 300, 3_000]) * random.next(),
      fails: number > 0 || random.happens(0.05),
      ignoresSignal: random.happens(0.1),
    })
  return attempts
}

function faultsOf(random, moments, settings) {
  const { inbox, receivers, workers, retentionMs, busyMs, leaseMs } = settings
  const actions = []
  const processes = receivers + workers
  const faults = random.one([0, 1, 1, 2, 3, 5])
  for (let number = retentionMs === undefined ? 0 : random.between(0, 3); number > 0; number--)
    actions.push({
      at: random.next() * busyMs,
      do: 'stop',
      process: random.between(0, processes - 1),
      forMs: random.next() * 100,
    })
  for (let number = 0; number < faults; number++) {
    const at = timeOf(random, settings, moments, random.one([20, 500]))
    const process = random.between(0, processes - 1)
    const forMs = random.next() * random.one([50, 1_000, 6_000])
    const call = random.one(CALLS)
    actions.push(
      random.one([
        { at, do: 'kill', process, forMs, call },
        { at, do: 'kill', process, forMs, call },
        { at, do: 'stop', process, forMs, call, lingersMs: random.next() * random.one([0, 1_000]) },
        { at, do: 'pause', process, forMs },
        { at, do: 'pause', process, forMs: leaseMs * random.one([0.3, 0.8, 1.5, 3]), call },
        {
          at,
          do: 'clock',
          process: random.one([undefined, process]),
          byMs: random.one([-1, 1]) * random.one([1_500, 10_000, 3_600_000]),
        },
        { at, do: 'database', faults: { fails: random.one([0.3, 1]) }, forMs },
        { at, do: 'database', faults: { loses: random.one([0.3, 1]) }, forMs },
        { at, do: 'database', faults: { slowMs: random.one([600, 5_000]) }, forMs },
        ...(inbox === 'sqlite' ? fileFaultsOf(random, at, forMs) : []),
        ...(inbox === 'postgres' ? serverFaultsOf(random, at, forMs) : []),
      ]),
    )
  }
  return actions
}

function fileFaultsOf(random, at, forMs) {
  const probability = random.one([0.1, 1])
  const faults = ['locked', 'full', 'unwritten', 'unsynced']
  return faults.map((fault) => ({ at, do: 'file', faults: { [fault]: probability }, forMs }))
}

function serverFaultsOf(random, at, forMs) {
  const probability = random.one([0.1, 1])
  return ['conflicts', 'full'].map((fault) => ({
    at,
    do: 'database',
    faults: { [fault]: probability },
    forMs,
  }))
}

function decisionsOf(random, moments, settings) {
  const actions = []
  for (let decisions = random.one([0, 0, 1, 2, 4, 10]); decisions > 0; decisions--) {
    const at = timeOf(random, settings, moments, 2_000)
    const again = random.happens(0.5)
    const action = random.one(['retry', 'release', 'discard', 'undo'])
    actions.push({
      at,
      do: 'decide',
      action,
      again,
      call: random.one(CALLS),
      // Which of the entries that there are then, or of those that the action is for.
      entry: random.next(),
      fits: random.happens(0.7),
    })
    // About the entry of the latest decision.
    if (action !== 'undo' && random.happens(0.4))
      for (let undone = random.one([1, 1, 2]); undone > 0; undone--)
        actions.push({ at: at + random.next() * random.one([20, 500]), do: 'decide', action: 'undo', again })
  }
  return actions
}

/** A callback that is deleted, and comes again after the clock was set back to when it was new. */
function deletedOf(random, { retentionMs, receivers, inbox }) {
  if (retentionMs !== 3_000 || random.happens(0.7)) return []
  const from = random.next() * 500
  const attempts = [{ takesMs: 1, fails: false, ignoresSignal: false }]
  const [deleted, later] = [20, 21].map((number) => ({ number, type: 'transfer', attempts }))
  // Those that share a file share a clock.
  const clocks = inbox === 'sqlite' ? 1 : receivers
  return [
    { at: from, do: 'send', callback: deleted, as: 'new' },
    { at: from + 4_700, do: 'send', callback: later, as: 'new' },
    { at: from + 5_000, do: 'stop', process: 0, forMs: 50 },
    ...Array.from({ length: clocks }, (_, process) => ({
      at: from + 5_500,
      do: 'clock',
      process,
      byMs: -5_000,
    })),
    { at: from + 5_800, do: 'send', callback: deleted, as: random.one(['repeat', 'replay']) },
  ]
}

/** If one is named, something is done once such a call has changed something, and its answer is on its way. */
const CALLS = [undefined, undefined, undefined, 'add', 'claim', 'begin', 'extend', 'settle']
