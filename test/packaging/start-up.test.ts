import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const PROGRAM = join(__dirname, '../../dist/cli/bin.js')

/** The files that a command loads, from `dist` or `node_modules` on. */
function loadedBy(...args: string[]): string[] {
  const program = `
    process.once('exit', () => console.log('loaded: ' + Object.keys(require.cache).join()))
    process.argv.push(...${JSON.stringify(args)})
    require(${JSON.stringify(PROGRAM)})`
  const printed = execFileSync(process.execPath, ['--eval', program, PROGRAM], { encoding: 'utf8' })
  const files = /^loaded: (.*)$/m.exec(printed)![1]!.split(',')
  return files.map((file) => /(?:dist|node_modules)\/(?!.*node_modules\/).*/.exec(file)![0])
}

it('the help needs commander, and neither a receiver nor a database', () => {
  const loaded = loadedBy('--help')
  expect(loaded).toContain('dist/cli/main.js')
  expect(
    loaded.filter((file) => !/^(?:dist\/(?:cli|base|signature)|node_modules\/commander)\//.test(file)),
  ).toEqual([])
})

it.each(['serve', 'work'])('%s loads the console only if it is configured', (command) => {
  const loaded = loadedBy(command, '--help')
  expect(loaded).toContainEqual(expect.stringContaining('node_modules/close-with-grace/'))
  expect(loaded.filter((file) => /browser-libraries|^node_modules\/eta\//.test(file))).toEqual([])
})
