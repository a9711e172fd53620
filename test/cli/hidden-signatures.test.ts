import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { markSignatures } from '../../src/diagnosis/signature-marker.js'
import { signedCallback } from '../../src/testing/signed-callback.js'
import { runReceiver, SECRET, subscription } from '../support/running-receiver.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

/** A genuine callback as a receiver captures it. */
async function captured(): Promise<string> {
  const http = markSignatures(signedCallback({ subscription }).toHttp().toString('latin1'))
  const description = {
    sender: 'captured by countersign',
    subscription: { ...subscription, secret: '[not captured]' },
    expect: { status: 200, outcome: 'handled' },
    note: '',
  }
  const cwd = await sandbox.directory({ 'a.json': JSON.stringify(description) })
  await writeFile(join(cwd, 'a.http'), http, 'latin1')
  return cwd
}

describe('a capture without its signature', () => {
  it.each([[[]], [['--callback-url', subscription.callbackUrl]]])(
    'is not said to be malformed by verify: %j',
    async (args) => {
      const secret = ['--secret-env', 'COUNTERSIGN_SECRET', '--url-env', 'URL']
      const { stdout } = await countersign(['verify', 'a.http', ...(args.length > 0 ? args : secret)], {
        cwd: await captured(),
        env: { COUNTERSIGN_SECRET: SECRET, URL: subscription.callbackUrl },
      })
      expect(stdout).toMatch(/^a\.http /)
      expect(stdout).not.toContain('MALFORMED')
    },
  )

  it.each([[[]], [['--json']]])('is named by replay as the reason of a 401: %j', async (args) => {
    const { port } = await runReceiver()
    const url = `http://127.0.0.1:${port}`
    const ran = await countersign(['replay', 'a.http', '--url', url, ...args], { cwd: await captured() })
    expect(ran).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('401'),
      stderr: expect.stringMatching(/^countersign: signatures were hidden .* keepSignatures: true/),
    })
  })
})
