import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseUrl } from '../../src/base/parse-url.js'
import { baseUrlOption } from '../../src/client/base-url.js'

test('parses an absolute URL, and nothing else', () => {
  expect(parseUrl('https://user@partner.example.com:444/a?b#c')?.host).toBe('partner.example.com:444')
  for (const text of ['', '/hooks', 'partner.example.com', 'https://', 'https://a b/']) {
    expect(parseUrl(text)).toBeUndefined()
  }
})

// URL.canParse on Node 20 begins to refuse such hosts after some ten thousand calls.
test('a host that is not ASCII is parsed alike however often', () => {
  let wrong = 0
  for (let count = 0; count < 50_000; count++) {
    if (
      baseUrlOption('createClient', `https://m\u00fcnchen.example/${count}`).indexOf('xn--mnchen-3ya') !== 8
    )
      wrong++
  }
  expect(wrong).toBe(0)
})

test('no source file uses URL.canParse', () => {
  const folder = join(__dirname, '../../src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const users = files.filter((file) => /URL\.canParse\(/.test(readFileSync(join(folder, file), 'utf8')))
  expect(files.length).toBeGreaterThan(100)
  expect(users).toEqual([])
})
