import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(__dirname, '../../dist/esm/shared')

/** The built files that a command imports statically. They are loaded whenever the command runs. */
function loadedAtStart(command: string): string {
  const first = readdirSync(folder).filter((name) => name.startsWith(`${command}-`))
  const sources = new Map<string, string>()
  const names = new Set(first)
  for (const name of names) {
    const source = readFileSync(join(folder, name), 'utf8')
    sources.set(name, source)
    for (const [, imported] of source.matchAll(/^(?:import|export|\}).*"\.\/(.*)";$/gm)) names.add(imported!)
  }
  return [...sources.values()].join('\n')
}

it.each(['serve', 'work'])('%s loads the console only if it is configured', (command) => {
  const loaded = loadedAtStart(command)
  expect(loaded).toContain('from "close-with-grace"')
  expect(loaded).not.toContain('from "eta"')
  expect(loaded).not.toContain('htmx')
})
