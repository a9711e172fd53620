import { ENGINE } from '../../src/inbox/inbox.js'
import type { WholeInbox } from './whole-inbox.js'

type Method = (typeof METHODS)[number]

/** An inbox whose methods do something else while the test says so. */
interface Interposed {
  readonly inbox: WholeInbox
  /** How often each method has been called. */
  readonly calls: Record<Method, number>
  /** From now on this method does `instead`, which is given the real one; `undefined` puts things right. */
  set<Name extends Method>(
    name: Name,
    instead: ((call: () => ReturnType<WholeInbox[Name]>) => ReturnType<WholeInbox[Name]>) | undefined,
  ): void
}

const METHODS = [
  'open',
  'add',
  'claim',
  'begin',
  'extend',
  'settle',
  'count',
  'stats',
  'prune',
  'close',
] as const

export function interposed(real: WholeInbox): Interposed {
  const calls = Object.fromEntries(METHODS.map((name) => [name, 0])) as Record<Method, number>
  const instead = new Map<Method, (call: () => unknown) => unknown>()
  const inbox: WholeInbox = new Proxy(real, {
    get(target, name) {
      if (name === ENGINE) return inbox
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      const method = value.bind(target) as (...given: unknown[]) => unknown
      if (!METHODS.includes(name as Method)) return method
      return (...given: unknown[]) => {
        calls[name as Method]++
        const call = () => method(...given)
        return (instead.get(name as Method) ?? ((real) => real()))(call)
      }
    },
  })
  return {
    inbox,
    calls,
    set(name, replacement) {
      if (replacement) instead.set(name, replacement as (call: () => unknown) => unknown)
      else instead.delete(name)
    },
  }
}

export const away = (): Promise<never> => Promise.reject(new Error('the disk is away'))

export const never = (): Promise<never> => new Promise(() => {})
