import { AsyncLocalStorage } from 'node:async_hooks'
import { trackStorages } from './test-environment.js'

describe('the environment of a test file', () => {
  it('disables each AsyncLocalStorage that was used in it, and no other', () => {
    const earlier = new AsyncLocalStorage<string>()
    const during = new AsyncLocalStorage<string>()
    const stores = () => [earlier.getStore(), during.getStore()]
    earlier.run('earlier', () => {
      const disableStorages = trackStorages()
      during.run('during', () => {
        expect(stores()).toEqual(['earlier', 'during'])
        disableStorages()
        expect(stores()).toEqual(['earlier', undefined])
      })
    })
  })

  it('leaves the class as it was', () => {
    const { run } = AsyncLocalStorage.prototype
    trackStorages()()
    expect(AsyncLocalStorage.prototype.run).toBe(run)
  })
})
