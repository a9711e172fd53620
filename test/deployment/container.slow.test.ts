import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { deliver, SUBSCRIPTION } from '../cli/configured.js'
import { itWhere } from '../support/it-where.js'
import { freePort, ServerProcess } from '../support/server-program.js'
import { instruction, listOf, pidNamespace, unpackedImage } from './container.js'

const namespace = pidNamespace()
const subscription = { ...SUBSCRIPTION, callbackUrl: 'https://partner.example.com/hooks/transfers' }

/** The process that `unshare` has started. */
function childOf({ pid }: ServerProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'))
}

describe('the container image', () => {
  itWhere(namespace !== undefined, 'unshare with a PID namespace')(
    'accepts callbacks as PID 1, is healthy, and ends with 0 on SIGTERM',
    async () => {
      const port = await freePort()
      const { app, PATH } = unpackedImage(port)
      const command = [
        'env',
        `PATH=${PATH}`,
        'NODE_ENV=production',
        ...listOf('ENTRYPOINT'),
        ...listOf('CMD'),
      ]
      const container = new ServerProcess('unshare', [...namespace!, ...command], { cwd: app })
      const [program, ...args] = listOf('HEALTHCHECK').map((each) => each.replace(':3000/', `:${port}/`))
      const health = () => spawnSync(program!, args, { env: { PATH }, cwd: app }).status
      await container.ready(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok)
      expect(health()).toBe(0)
      expect(await deliver(port, { subscription })).toEqual({ status: 200 })
      expect(
        execFileSync('countersign', ['inbox', 'stats'], { cwd: app, env: { PATH }, encoding: 'utf8' }),
      ).toMatch(/(stored|running|handled) +1\n/)
      process.kill(childOf(container), 'SIGTERM')
      await container.ended
      expect(container.exitCode).toBe(0)
      expect(health()).toBe(1)
    },
    60_000,
  )

  it('does not run as root, and its user is named by a number', () => {
    expect(instruction('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/)
  })
})
