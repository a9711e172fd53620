import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(__dirname, '../..')

it('Node prints the errors of the built package with the names of their classes', () => {
  const program = `
    const { createReceiver } = await import('./dist/index.js')
    const { forwardedEvent } = await import('./dist/bullmq.js')
    for (const fail of [() => createReceiver({}), () => forwardedEvent({})])
      try { fail() } catch (error) { console.log(error.constructor.name) }`
  const args = ['--input-type=module', '--eval', program]
  const printed = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  expect(printed.trim().split('\n')).toEqual(['OptionError', 'ForwardedJobError'])
})
