import { SUBSCRIPTION } from './configured.js'
import { countersign } from './program.js'
import { check, json, JSON_FILE, MJS_FILE, refusal, secret } from './check-config.js'

describe('what is misspelt is guessed', () => {
  it.each([
    [['serve', '--prot', '1'], 'Did you mean --port?'],
    [['serve', '--tolerence-ms', '1'], 'Did you mean --tolerance-ms?'],
    [['serv'], 'Did you mean serve?'],
    [['inbox', 'lst'], 'Did you mean list?'],
  ])('on the command line: %j', async (args, guess) => {
    const { code, stderr } = await countersign(args)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(guess) })
  })

  it.each([
    [{ subscription: [] }, 'Did you mean "subscriptions"?'],
    [{ tolerancMs: 1 }, 'Did you mean "toleranceMs"?'],
    [{ prot: 1 }, 'Did you mean "port"?'],
    [{ inbox: { fiel: 'a' } }, 'Did you mean "file"?'],
    [{ subscriptions: [{ ...SUBSCRIPTION, callbackURL: 'a' }] }, 'Did you mean "callbackUrl"?'],
  ])('in the configuration: %j', async (config, guess) => {
    expect(await refusal(json(config))).toContain(guess)
  })

  it('and what resembles nothing is not', async () => {
    expect(await refusal(json({ zzz: 1 }))).not.toContain('Did you mean')
  })
})

describe('a mistake in a file is named with its line', () => {
  it('in a module of handlers', async () => {
    const files = {
      ...json({ handlers: './handlers.mjs' }),
      'handlers.mjs': '// one\nexport default {\n let }',
    }
    expect(await refusal(files)).toMatch(
      /handlers module \.\/handlers\.mjs cannot be loaded: .*\/handlers\.mjs:3\)/,
    )
  })

  it('in a module that the configuration imports', async () => {
    const files = {
      [MJS_FILE]: `import './parts/../other.mjs'\nexport default {}`,
      'other.mjs': `const secret = '${secret}'\nconst = 1`,
    }
    const text = await refusal(files)
    expect(text).toMatch(/\/other\.mjs:2\)/)
    expect(text).not.toContain(secret)
  })

  it.each([
    ['{\n "a": 1,\n}', 3],
    ['{\n "a": foo\n}', 2],
    ['{\n // no\n}', 2],
    ["{\n\n 'a': 1 }", 3],
    ['{ "a": "b\n" }', 1],
    ['{ "a": [1, 2\n"b"] }', 2],
    ['{ "a": [1, 2}', 1],
    ['{ "a": 1 }\n{', 2],
    ['\n{ "a": 1\n', 2],
    ['', 1],
  ])('in JSON: %j', async (text, line) => {
    expect(await refusal({ [JSON_FILE]: text })).toBe(`${JSON_FILE} is not JSON (line ${line}).\n`)
  })
})

describe('a configuration in TypeScript', () => {
  const files = {
    'countersign.config.ts': `const port: number = 0
      export default { port, inbox: false, subscriptions: [${JSON.stringify(SUBSCRIPTION)}] }`,
  }

  it('is loaded where Node can, and else the cure is named', async () => {
    const { code, stderr } = await check(files)
    if ('typescript' in process.features && process.features.typescript) expect(code).toBe(0)
    else {
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(
          /countersign\.config\.ts cannot be loaded: Node .* Use Node 22\.18 or later/,
        ),
      })
    }
  })
})
