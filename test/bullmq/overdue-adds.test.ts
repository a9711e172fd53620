import { OverdueAdds } from '../../src/bullmq/overdue-adds.js'
import { deferred } from '../support/deferred.js'

function overdueAdds(...adding: Promise<unknown>[]) {
  let now = 0
  const overdue = new OverdueAdds(2, () => now)
  for (const each of adding) overdue.keep(each)
  return { overdue, pass: (ms: number) => (now += ms) }
}

const never = () => new Promise(() => {})

it('admits any number while the queue answers', () => {
  const { overdue } = overdueAdds(never())
  expect([1, 2, 3].map(() => overdue.admits())).toEqual([true, true, true])
})

it('admits one a second at the limit', () => {
  const { overdue, pass } = overdueAdds(never(), never())
  expect([1, 2, 3].map(() => overdue.admits())).toEqual([true, false, false])
  pass(999)
  expect(overdue.admits()).toBe(false)
  pass(1)
  expect([1, 2].map(() => overdue.admits())).toEqual([true, false])
})

it.each(['resolve', 'reject'] as const)('admits again when one has ended by a %s', async (end) => {
  const late = deferred()
  const { overdue } = overdueAdds(never(), late.promise)
  late[end](new Error('late') as never)
  await late.promise.catch(() => {})
  expect([1, 2].map(() => overdue.admits())).toEqual([true, true])
})

it('admits again when the queue has answered, even where some never end', () => {
  const { overdue } = overdueAdds(never(), never())
  overdue.forget()
  expect([1, 2].map(() => overdue.admits())).toEqual([true, true])
})
