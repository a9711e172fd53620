import { deferred } from './deferred.js'
import { itBeside } from './it-beside.js'

describe('itBeside', () => {
  const started: string[] = []
  const finish = deferred()

  it('starts its test before the others', () => {
    expect(started).toEqual(['beside'])
  })

  it('does not keep the others waiting for its test', () => {
    finish.resolve()
  })

  itBeside('awaits its test in its turn', async () => {
    started.push('beside')
    await finish.promise
  })
})
