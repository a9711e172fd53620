import { NO_ENTRIES } from '../../src/inbox/states.js'
import { MOVES, PRUNABLE, type InboxState, type Move } from '../../src/inbox/states.js'

const STATES = Object.keys(NO_ENTRIES) as InboxState[]
const moves = Object.entries(MOVES) as [
  Move,
  { from: readonly InboxState[]; to: InboxState; by: 'worker' | 'operator' },
][]
/** What becomes of a callback on arrival. */
const ARRIVES_AS: readonly InboxState[] = ['stored', 'unhandled', 'quarantined']

function reachable(from: readonly InboxState[], by: readonly string[]): Set<InboxState> {
  const found = new Set(from)
  for (const state of found) {
    for (const [, move] of moves) if (by.includes(move.by) && move.from.includes(state)) found.add(move.to)
  }
  return found
}

describe('the moves of an entry', () => {
  it('lead to every state', () => {
    expect(reachable(ARRIVES_AS, ['worker', 'operator'])).toEqual(new Set(STATES))
  })

  it('never name a state twice', () => {
    for (const [, { from }] of moves) expect(new Set(from).size).toBe(from.length)
  })

  it('let a worker bring everything that is to be handled to its end', () => {
    for (const state of ['stored', 'running', 'retrying'] as const) {
      expect(reachable([state], ['worker'])).toContain('handled')
      expect(reachable([state], ['worker'])).toContain('dead')
    }
  })

  it('let no worker touch what a person has to decide on, or what is over', () => {
    for (const state of ['quarantined', 'dead', 'handled', 'discarded'] as const) {
      expect(reachable([state], ['worker'])).toEqual(new Set([state]))
    }
  })

  it('let a person bring everything that is stuck to its end, one way or the other', () => {
    for (const state of ['quarantined', 'dead', 'unhandled', 'retrying'] as const) {
      const ends = reachable([state], ['worker', 'operator'])
      expect(ends).toContain('handled')
      expect(ends).toContain('discarded')
    }
  })

  it('let no person touch what is running', () => {
    for (const [, { from, by }] of moves) if (by === 'operator') expect(from).not.toContain('running')
  })

  it('lead out of quarantine by a decision of a person alone', () => {
    const ways = moves.filter(([, { from }]) => from.includes('quarantined')).map(([name]) => name)
    expect(ways).toEqual(['release', 'discard'])
  })

  it('lead to handled from running alone', () => {
    const ways = moves.filter(([, { to }]) => to === 'handled')
    expect(ways).toEqual([['complete', { from: ['running'], to: 'handled', by: 'worker' }]])
  })
})

describe('what may be deleted', () => {
  it('is nothing that a worker would still move', () => {
    for (const state of PRUNABLE) expect(reachable([state], ['worker'])).toEqual(new Set([state]))
  })

  it('is only what was handled, or what a person has discarded', () => {
    for (const state of PRUNABLE) {
      const ways = moves.filter(([, { to }]) => to === state).map(([name]) => name)
      expect(['complete', 'discard']).toEqual(expect.arrayContaining(ways))
    }
  })
})
