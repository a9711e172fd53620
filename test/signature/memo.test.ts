import { memo } from '../../src/signature/memo.js'

function counted(limit?: number) {
  const computed: string[] = []
  const lookUp = memo((text) => {
    computed.push(text)
    return text.startsWith('no') ? undefined : text.length
  }, limit)
  return { computed, lookUp }
}

it('computes what it has been asked before only once', () => {
  const { computed, lookUp } = counted()
  expect([lookUp('a'), lookUp('a')]).toEqual([1, 1])
  expect(computed).toEqual(['a'])
})

it('forgets the oldest when there are too many, because an unauthenticated sender chooses the texts', () => {
  const { computed, lookUp } = counted(2)
  for (const text of ['a', 'b', 'c', 'c', 'b', 'a']) lookUp(text)
  expect(computed).toEqual(['a', 'b', 'c', 'a'])
})

it('remembers 1024 results unless it is told otherwise', () => {
  const { computed, lookUp } = counted()
  for (let text = 0; text < 1024; text++) lookUp(`${text}`)
  lookUp('0')
  expect(computed).toHaveLength(1024)
  lookUp('one more')
  lookUp('0')
  expect(computed.slice(1024)).toEqual(['one more', '0'])
})

it('keeps no room for a text that gives nothing', () => {
  const { computed, lookUp } = counted(2)
  for (const text of ['a', 'no', 'none', 'nobody', 'a']) lookUp(text)
  expect(computed).toEqual(['a', 'no', 'none', 'nobody'])
})
