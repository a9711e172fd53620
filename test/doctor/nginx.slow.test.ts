import { itWhere } from '../support/it-where.js'
import { runReceiver } from '../support/running-receiver.js'
import { freePort } from '../support/server-program.js'
import { CLEAR_PAUSE_MS, examined, LONG_PAUSE_MS, notes, problems, seen } from './examined.js'
import { certificate, nginx, openssl, startNginx } from './proxies.js'

const itWithNginx = itWhere(nginx !== undefined, 'nginx')
const itWithTls = itWhere(nginx !== undefined && openssl !== undefined, 'nginx and openssl')

describe('doctor through nginx', () => {
  itWithNginx('finds no problem where callbacks pass unchanged', async () => {
    const { port, outcomes } = await runReceiver()
    const result = await examined(await startNginx(port))
    expect(problems(result)).toEqual([])
    expect(result.reached).toBe('receiver')
    expect(result.steps.map(({ name, ok }) => [name, ok])).toEqual([
      ['DNS', true],
      ['TCP', true],
      ['HTTP/1.1', true],
      ['chunked body', true],
      ['Expect: 100-continue', true],
      ['upload with a pause of 200 ms', true],
      ['body of 1,048,576 bytes', true],
    ])
    expect(notes(result)).toEqual(['not-encrypted', 'body-buffered'])
    expect(outcomes).toEqual([])
  })

  const broken: [string, Parameters<typeof startNginx>[1], string[], RegExp?][] = [
    [
      'that strips Authorization',
      { location: 'proxy_set_header Authorization "";' },
      ['authorization-stripped'],
    ],
    [
      'that sets Authorization for the application',
      { location: 'proxy_set_header Authorization "Basic dXNlcjpwYXNz";' },
      ['authorization-replaced'],
      /scheme basic/,
    ],
    [
      'that renames Authorization',
      {
        location:
          'proxy_set_header X-Original-Authorization $http_authorization; proxy_set_header Authorization "";',
      },
      ['authorization-stripped', 'header-renamed'],
    ],
    [
      'that drops a header',
      { location: 'proxy_set_header X-Event-Type "";' },
      ['header-dropped'],
      /X-Event-Type/,
    ],
    ['that limits bodies', { server: 'client_max_body_size 64k;' }, ['body-limit'], /^413/],
    [
      'that drops the body',
      { location: 'proxy_pass_request_body off; proxy_set_header Content-Length "";' },
      ['body-empty'],
    ],
    [
      'that waits too short a time for bodies',
      { server: 'client_body_timeout 500ms;' },
      ['slow-upload-cut'],
      /^(?:408 Request Timeout|ECONNRESET) after \d+ ms$/,
    ],
    ['that redirects', { server: 'return 301 https://$host/other?token=t0k3n;' }, ['redirected'], /\/other$/],
    ['that asks for a login', { location: 'deny all;' }, ['refused-on-the-way'], /^403/],
    ['that serves files', { server: 'return 404;' }, ['not-the-receiver'], /^404/],
  ]
  for (const [name, configuration, expected, text] of broken) {
    itWithNginx(`names the fault of one ${name}`, async () => {
      const { port } = await runReceiver()
      const options = expected.includes('slow-upload-cut') ? { pauseMs: LONG_PAUSE_MS } : {}
      const result = await examined(await startNginx(port, configuration), options)
      expect(problems(result)).toEqual(expected)
      if (text) expect(seen(result, expected[0]!)).toMatch(text)
    })
  }

  itWithNginx('says that the proxy is there and the receiver is not', async () => {
    const result = await examined(await startNginx(await freePort()))
    expect(problems(result)).toEqual(['receiver-unreachable'])
    expect(result.reached).toBe('http')
  })

  itWithNginx('sees that it forwards bodies piece by piece, if it is told to', async () => {
    const { port } = await runReceiver()
    const location = 'proxy_request_buffering off;'
    expect(notes(await examined(await startNginx(port, { location }), { pauseMs: CLEAR_PAUSE_MS }))).toEqual([
      'not-encrypted',
    ])
  })

  itWithNginx('notes a rewritten path, which is harmless', async () => {
    const { port } = await runReceiver()
    const result = await examined(
      await startNginx(port, { location: 'rewrite ^/hooks/(.*)$ /inner/$1 break;' }),
    )
    expect(problems(result)).toEqual([])
    expect(seen(result, 'path-rewritten')).toBe('/inner/transfers')
  })

  itWithTls('probes over HTTP/2, and sees a certificate that expires soon', async () => {
    const { port } = await runReceiver()
    const tls = certificate(7)
    const proxy = await startNginx(port, tls)
    const url = new URL(`https://127.0.0.1:${proxy}/hooks/transfers`)
    const result = await examined(proxy, { url, ca: tls.certificate })
    expect(problems(result)).toEqual(['tls-expires-soon'])
    expect(result.steps.at(-1)).toMatchObject({ name: 'HTTP/2', ok: true })
    const untrusted = await examined(proxy, { url })
    expect(problems(untrusted)).toEqual(['tls-not-trusted'])
    expect(untrusted.reached).toBe('receiver')
  })
})
