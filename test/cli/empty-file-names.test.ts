import { countersign } from './program.js'

const SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = {
  inbox: ['stats', 'list', 'show', 'retry', 'release', 'discard', 'undo', 'prune', 'migrate'],
  capture: ['anonymise'],
}

async function commands(): Promise<string[][]> {
  const { stdout } = await countersign(['--help'])
  const [, list = ''] = /^Commands:\n([^]*?)\n\n/m.exec(stdout) ?? []
  const names = [...list.matchAll(/^ {2}([\w-]+)/gm)]
    .map(([, name]) => name!)
    .filter((name) => name !== 'help')
  return names.flatMap((name) => SUBCOMMANDS[name]?.map((each) => [name, each]) ?? [[name]])
}

it('refuses an empty name, such as that of a variable that is not set, for each option that takes a file', async () => {
  let count = 0
  for (const command of await commands()) {
    const { stdout } = await countersign([...command, '--help'])
    const [options = ''] = /^Options:\n[^]*?\n\n/m.exec(stdout) ?? []
    for (const [, option] of options.matchAll(/(--[\w-]+) <(?:file|dir|module)>/g)) {
      const args = [...command, option!, '']
      expect([args, await countersign(args)]).toEqual([
        args,
        {
          code: 2,
          stdout: '',
          stderr: expect.stringMatching(
            /^countersign: option '.*' argument '' is invalid\. It must not be empty\.$/m,
          ),
        },
      ])
      count++
    }
  }
  expect(count).toBeGreaterThan(40)
})
