import { callbackUrlProblem } from '../../src/signature/index.js'

describe('is content with', () => {
  test.each([
    ['a path', 'https://partner.example.com/hooks/transfers'],
    ['the path /', 'https://partner.example.com/'],
    ['a slash at the end', 'https://partner.example.com/hooks/'],
    ['empty path segments', 'https://partner.example.com//hooks//transfers'],
    ['a query', 'https://partner.example.com/hooks?tenant=7&next=/a?b'],
    ['a port', 'https://partner.example.com:8443/hooks'],
    ['the default port of the other scheme', 'https://partner.example.com:80/hooks'],
    ['http', 'http://127.0.0.1:8080/hooks'],
    ['IPv6', 'https://[2001:db8::1]:8443/hooks'],
    ['an international host name in ASCII', 'https://xn--mnchen-3ya.example/hooks'],
    ['escapes of either case', 'https://partner.example.com/caf%C3%A9%2f?q=%7e+%2B'],
    ['an at sign in the path', 'https://partner.example.com/a:b@c;d'],
  ])('%s: %s', (_, callbackUrl) => {
    expect(callbackUrlProblem(callbackUrl)).toBeUndefined()
  })
})

describe('gives the spelling to subscribe with where there is', () => {
  test.each([
    ['upper case in the host', 'https://Partner.Example.com/hooks', 'https://partner.example.com/hooks'],
    ['upper case in the scheme', 'HTTPS://partner.example.com/hooks', 'https://partner.example.com/hooks'],
    [
      'the default port of https',
      'https://partner.example.com:443/hooks',
      'https://partner.example.com/hooks',
    ],
    ['the default port of http', 'http://partner.example.com:80/hooks', 'http://partner.example.com/hooks'],
    ['a colon without a port', 'https://partner.example.com:/hooks', 'https://partner.example.com/hooks'],
    [
      'a port with a zero before it',
      'https://partner.example.com:08443/',
      'https://partner.example.com:8443/',
    ],
    ['no path', 'https://partner.example.com', 'https://partner.example.com/'],
    ['a fragment', 'https://partner.example.com/hooks#top', 'https://partner.example.com/hooks'],
    ['an empty fragment', 'https://partner.example.com/hooks#', 'https://partner.example.com/hooks'],
    ['an empty query', 'https://partner.example.com/hooks?', 'https://partner.example.com/hooks'],
    ['empty user info', 'https://@partner.example.com/hooks', 'https://partner.example.com/hooks'],
    ['a dot in the path', 'https://partner.example.com/./hooks', 'https://partner.example.com/hooks'],
    ['two dots in the path', 'https://partner.example.com/x/../hooks', 'https://partner.example.com/hooks'],
    [
      'escaped dots in the path',
      'https://partner.example.com/x/%2e%2E/hooks',
      'https://partner.example.com/hooks',
    ],
    ['a space in the path', 'https://partner.example.com/a b', 'https://partner.example.com/a%20b'],
    [
      'a letter that is not ASCII',
      'https://partner.example.com/caf\u00e9',
      'https://partner.example.com/caf%C3%A9',
    ],
    ['a host that is not ASCII', 'https://m\u00fcnchen.example/', 'https://xn--mnchen-3ya.example/'],
    ['an escape in the host', 'https://p%61rtner.example.com/', 'https://partner.example.com/'],
    ['a backslash', 'https://partner.example.com\\hooks', 'https://partner.example.com/hooks'],
    ['a slash too many before the host', 'https:///partner.example.com/', 'https://partner.example.com/'],
    ['no slashes before the host', 'https:partner.example.com/hooks', 'https://partner.example.com/hooks'],
    ['white space around it', ' https://partner.example.com/hooks\n', 'https://partner.example.com/hooks'],
    ['a tab within', 'https://partner.example.com/ho\toks', 'https://partner.example.com/hooks'],
    ['an address in short', 'http://127.1/hooks', 'http://127.0.0.1/hooks'],
    ['an IPv6 address in long', 'https://[2001:DB8:0:0:0:0:0:1]/', 'https://[2001:db8::1]/'],
  ])('%s: %j', (_, callbackUrl, spelling) => {
    const problem = callbackUrlProblem(callbackUrl)
    expect(problem?.replace(callbackUrl, '')).toContain(JSON.stringify(spelling))
    expect(callbackUrlProblem(spelling)).toBeUndefined()
  })
})

test.each([
  'https://user:pa55word@partner.example.com/hooks',
  'https://pa55word@partner.example.com/hooks',
  'https://us@er:pa55word@partner.example.com/hooks',
  'https:user:pa55word@partner.example.com/hooks',
  'https:\\\\user:pa55word@partner.example.com/hooks',
  'https:/\t/user:pa55word@partner.example.com/hooks',
])('gives the spelling without user info, and does not repeat the password: %j', (callbackUrl) => {
  const problem = callbackUrlProblem(callbackUrl)
  expect(problem).toContain('"https://partner.example.com/hooks"')
  expect(problem).not.toContain('pa55word')
})

test.each([
  'https://user:pa55word@partner.example.com:port/hooks',
  'https://user:pa/55word@partner.example.com/hooks',
  'https:user:pa55word@partner.example.com:port/hooks',
])('does not repeat the password of what is not a URL: %j', (callbackUrl) => {
  const problem = callbackUrlProblem(callbackUrl)
  expect(problem).toEqual(expect.any(String))
  expect(problem).not.toContain('55word')
})

const OVER = 'https://PARTNER.example.com'
test.each([
  [`${OVER}/hooks?token=t0ken`, '"https://partner.example.com/hooks?…"'],
  [`https://partner.example.com?token=t0ken`, '"https://partner.example.com/?…"'],
  [`${OVER}?token=t0ken#t0ken`, '"https://partner.example.com/?…"'],
  [`${OVER}/hooks#?t0ken`, '"https://partner.example.com/hooks"'],
  [`${OVER}/hooks?mail=t0ken@partner.example.com`, '"https://partner.example.com/hooks?…"'],
  [`https://t0ken@partner.example.com/hooks?t0ken`, '"https://partner.example.com/hooks?…"'],
])(
  'gives the spelling, and does not repeat a query, where people put tokens: %j',
  (callbackUrl, spelling) => {
    const problem = callbackUrlProblem(callbackUrl)
    expect(problem).toContain(`must be spelled ${spelling}: subscribe with`)
    expect(problem).not.toContain('t0ken')
  },
)

test.each([
  'https://partner.example.com/?q="t0ken"',
  'https://partner.example.com/?q=t0ken#top',
  'https://partner.example.com/?t0ken ',
])('says how to spell a query that it does not repeat: %j', (callbackUrl) => {
  const problem = callbackUrlProblem(callbackUrl)
  expect(problem).toContain(
    'callbackUrl "https://partner.example.com/?…" must have the query that new URL(callbackUrl).search gives',
  )
  expect(problem).not.toContain('t0ken')
})

test.each([
  's3cret~Text-with_dots.and-dashes-0123456',
  '/3X9n+vT0kEn/abc=',
  's3cret:t0ken',
  '//s3cret',
  'https://s3 cret/hooks',
  's3cret@https://partner.example.com/',
  'a t0ken?s3cret',
])('does not repeat what is not a URL, as it may be a secret in the wrong place: %j', (callbackUrl) => {
  const problem = callbackUrlProblem(callbackUrl)
  expect(problem).toMatch(
    /^callbackUrl must be the absolute .* but a text of \d+ characters is not an .*URL\.$/,
  )
  for (const word of callbackUrl.split(/[^a-z0-9]/i).filter((each) => /\d/.test(each)))
    expect(problem).not.toContain(word)
})

test.each([
  ['another scheme', 'ftp://partner.example.com/hooks'],
  ['a WebSocket', 'wss://partner.example.com/hooks'],
  ['a file', 'file:///hooks'],
  ['a script', 'javascript:alert(1)'],
  ['a path', '/hooks/transfers'],
  ['a host and path', 'partner.example.com/hooks'],
  ['a URL without a scheme', '//partner.example.com/hooks'],
  ['a scheme without a host', 'https://'],
  ['a port too high', 'https://partner.example.com:65536/'],
  ['a space in the host', 'https://partner example.com/'],
  ['nothing', ''],
])('asks for an http or https URL instead of %s: %j', (_, callbackUrl) => {
  expect(callbackUrlProblem(callbackUrl)).toMatch(/^callbackUrl .*https?.*\.$/)
})

test.each([
  ['undefined', undefined],
  ['null', null],
  ['a number', 443],
  ['a symbol', Symbol('url')],
  ['an object', {}],
  ['an object without a prototype', Object.create(null)],
  ['a URL object', new URL('https://partner.example.com/hooks')],
  ['a list', ['https://partner.example.com/hooks']],
])('asks for an http or https URL instead of %s', (_, callbackUrl: unknown) => {
  expect(callbackUrlProblem(callbackUrl)).toMatch(/^callbackUrl .*https?.*\.$/)
})

test('keeps its answer short, however long the URL is', () => {
  expect(callbackUrlProblem(`https://PARTNER.example.com/${'x'.repeat(100_000)}`)?.length).toBeLessThan(2_000)
})

test('gives the spelling of a host that is not ASCII also in a process that has run for long', () => {
  // Enough calls for the engine to optimize them, each with a URL that is not remembered yet.
  let wrong = 0
  for (let count = 0; count < 60_000; count++) {
    if (!callbackUrlProblem(`https://m\u00fcnchen.example/${count}`)?.includes('xn--mnchen-3ya')) wrong++
  }
  expect(wrong).toBe(0)
})
