'use strict'
const { spawn } = require('node:child_process')
const { once } = require('node:events')
const { text } = require('node:stream/consumers')

const env = {
  ...process.env,
  CALLBACK_URL: 'https://partner.example.com/hooks/transfers',
  CALLBACK_SECRET: 'only-for~this.test',
  PORT: '0',
}

test('listens, and ends with 0 on SIGTERM', async () => {
  const server = spawn(process.execPath, ['server.js'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  })
  const [printed] = await once(server.stdout, 'data')
  expect(`${printed}`).toMatch(/^listening on port \d+/)

  server.kill('SIGTERM')
  expect(await once(server, 'close')).toEqual([0, null])
})

test('does not start without the secret', async () => {
  const server = spawn(process.execPath, ['server.js'], {
    env: { ...env, CALLBACK_SECRET: '' },
    timeout: 60_000,
  })
  const [printed, [code]] = await Promise.all([text(server.stderr), once(server, 'close')])
  expect(printed).toContain('secret')
  expect(code).toBe(1)
})
