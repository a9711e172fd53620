import { AsyncLocalStorage } from 'node:async_hooks'
import vm from 'node:vm'
import { compilerOfModules, trackStorages } from './test-environment.js'

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

describe('compilerOfModules()', () => {
  const [one, other] = [vm.createContext({ name: 'one' }), vm.createContext({ name: 'other' })]
  const parameters = ['module', 'exports']
  const inContext = (parsingContext: vm.Context) => ({ filename: '/module.js', parsingContext })
  const valueOf = (run: Function, module: object = {}) => run.call('this', module) as unknown

  it('returns a function of the context, with its parameters and its own `this`', () => {
    const compile = compilerOfModules()
    const source = '"use strict"; return [name, this, module.id] // the end'
    for (const [context, name] of [
      [one, 'one'],
      [other, 'other'],
    ] as const) {
      const run = compile(source, parameters, inContext(context))
      expect([...(valueOf(run, { id: 7 }) as unknown[])]).toEqual([name, 'this', 7])
    }
  })

  it('compiles a file again only when its source or its parameters are others', () => {
    const compile = compilerOfModules()
    const run = jest.spyOn(vm.Script.prototype, 'runInContext')
    try {
      compile('return 1', parameters, inContext(one))
      compile('return 1', parameters, inContext(other))
      expect(valueOf(compile('return 2', parameters, inContext(one)))).toBe(2)
      compile('return 2', ['module'], inContext(one))
      const [first, second, third, fourth] = run.mock.contexts
      expect(second).toBe(first)
      expect(new Set([first, third, fourth]).size).toBe(3)
    } finally {
      run.mockRestore()
    }
  })

  it.each([
    ['throw new Error("in the first line")', 'module.js:1:7'],
    ['const valid = 1\n  throw new Error("in the second line")', 'module.js:2:9'],
  ])('leaves the place of an error as it is without it: %j', (source, place) => {
    const placeIn = (compile: typeof vm.compileFunction) => {
      const run = compile(source, parameters, inContext(one))
      try {
        run()
      } catch (error) {
        return /module\.js:\d+:\d+/.exec((error as Error).stack!)?.[0]
      }
      return 'no error'
    }
    expect(placeIn(compilerOfModules())).toBe(place)
    expect(placeIn(vm.compileFunction)).toBe(place)
  })
})
