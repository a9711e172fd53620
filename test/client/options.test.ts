import { inspect } from 'node:util'
import { createClient } from '../../src/client/index.js'
import { CLIENT_ID, CLIENT_SECRET, clientOf, startService } from './service.js'

const right = { baseUrl: 'https://api.bank.example', clientId: CLIENT_ID, clientSecret: CLIENT_SECRET }

function refusal(options: object): Error & { code: string } {
  try {
    createClient({ ...right, ...options })
  } catch (error) {
    return error as Error & { code: string }
  }
  throw new Error('it was taken')
}

describe('baseUrl', () => {
  it.each([
    ['https://api.bank.example'],
    ['https://api.bank.example/'],
    ['https://api.bank.example:8443/v2/bank/'],
    ['HTTPS://API.bank.example'],
    ['http://127.0.0.1:4000'],
    ['http://127.8.9.1'],
    ['http://127.1/'],
    ['http://[::1]:4000'],
    ['http://LOCALHOST:4000'],
  ])('may be %s', (baseUrl) => {
    expect(() => createClient({ ...right, baseUrl })).not.toThrow()
  })

  it.each([
    ['http://api.bank.example', 'use https'],
    ['http://localhost.bank.example', 'use https'],
    ['http://127.0.0.1.bank.example', 'use https'],
    ['http://128.0.0.1', 'use https'],
    ['http://0.0.0.0', 'use https'],
    ['http://[::ffff:127.0.0.1]', 'use https'],
    ['https://api.bank.example/?a=b', 'leave out the ?'],
    ['https://api.bank.example/?', 'leave out the ?'],
    ['https://api.bank.example/#a', 'leave out the #'],
    ['https://user:word@api.bank.example/', 'before the @'],
    ['https://:word@api.bank.example/', 'before the @'],
    ['api.bank.example', 'not an absolute http or https URL'],
    ['//api.bank.example', 'not an absolute http or https URL'],
    ['ftp://api.bank.example', 'not an absolute http or https URL'],
    ['https://', 'not an absolute http or https URL'],
    ['', 'not an absolute http or https URL'],
    [undefined, 'Is the environment variable set'],
    [null, 'service base address'],
    [new URL('https://api.bank.example'), 'service base address'],
  ])('may not be %s', (baseUrl, message) => {
    const error = refusal({ baseUrl })
    expect(error.code).toBe('ERR_OPTION_INVALID')
    expect(error.message).toContain('createClient: baseUrl')
    expect(error.message).toContain(message)
    expect(error.message).not.toContain('word')
  })

  it('is not repeated when it is not a URL, as it may be the secret', () => {
    expect(inspect(refusal({ baseUrl: CLIENT_SECRET }))).not.toContain(CLIENT_SECRET)
  })
})

describe('clientId', () => {
  it.each([[CLIENT_ID], [CLIENT_ID.toUpperCase()]])('may be the UUID %s, sent as it is', async (clientId) => {
    const service = await startService()
    await clientOf(service, { clientId }).accessToken()
    expect(new URLSearchParams(service.tokenRequests[0]!.body).get('client_Id')).toBe(clientId)
  })

  it.each([
    ['a name', 'my-client', 'not a UUID'],
    ['without dashes', CLIENT_ID.replaceAll('-', ''), 'not a UUID'],
    ['in braces', `{${CLIENT_ID}}`, 'not a UUID'],
    ['with a line end', `${CLIENT_ID}\n`, 'white space'],
    ['empty', '', 'Is the environment variable set'],
    ['missing', undefined, 'Is the environment variable set'],
    ['a number', 7, 'must be a text, but is number'],
  ])('may not be %s', (_what, clientId, message) => {
    const error = refusal({ clientId })
    expect(error.code).toBe('ERR_OPTION_INVALID')
    expect(error.message).toContain('createClient: clientId')
    expect(error.message).toContain(message)
  })

  it('that was swapped with the secret is recognised, and neither is repeated', () => {
    const error = refusal({ clientId: CLIENT_SECRET, clientSecret: CLIENT_ID })
    expect(error.message).toContain('are the two swapped?')
    expect(inspect(error)).not.toContain(CLIENT_SECRET)
    expect(inspect(error)).not.toContain(CLIENT_ID)
  })
})

describe('clientSecret', () => {
  it.each([['a'], ['A'], ['0-_.~'], ['x'.repeat(40)]])('may be %s', (clientSecret) => {
    expect(() => createClient({ ...right, clientSecret })).not.toThrow()
  })

  it.each([
    ['longer than 40 characters', 'x'.repeat(41), 'a text of 41 characters: a client secret has at most 40'],
    ['with a line end', 'geheimnis\n', 'a text of 10 characters and ends with a line end'],
    ['with a space at its end', 'geheimnis ', 'ends with white space'],
    ['with a space at its beginning', ' geheimnis', 'begins with white space'],
    ['with a space in it', 'geheim nis', 'holds white space'],
    ['in quotation marks', '"geheimnis"', 'holds a quotation mark'],
    ['in typographic quotation marks', '“geheimnis”', 'holds a quotation mark'],
    ['Base64', 'geheimnis+/==', 'holds a character of Base64'],
    ['with a letter of another alphabet', 'geheimniß', 'not ASCII'],
    ['with a control character', 'geheimnis\u0000', 'not printable'],
    ['with another punctuation mark', 'geheimnis!', 'holds a punctuation mark'],
    ['with a percent sign, as in a form', 'geheimnis%7E', 'holds a punctuation mark'],
  ])('may not be %s, and is not repeated', (_what, clientSecret, message) => {
    const error = refusal({ clientSecret })
    expect(error.code).toBe('ERR_OPTION_INVALID')
    expect(error.message).toContain('createClient: clientSecret')
    expect(error.message).toContain(message)
    expect(inspect(error, { showHidden: true })).not.toContain('geheim')
    expect(inspect(error, { showHidden: true })).not.toContain('xxx')
  })

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['a number', 7],
    ['null', null],
  ])('may not be %s', (_what, clientSecret) => {
    expect(refusal({ clientSecret }).message).toContain('Is the environment variable set?')
  })
})

describe('the other options', () => {
  it.each([
    ['timeoutMs', 0],
    ['timeoutMs', 2 ** 31],
    ['timeoutMs', '100'],
    ['maxAttempts', 0],
    ['maxAttempts', 11],
    ['maxAttempts', 1.5],
    ['retryDelayMs', 0],
    ['retryDelayMs', Number.NaN],
    ['fetch', 'undici'],
    ['fetch', null],
    ['clock', 5],
    ['logger', {}],
  ])('%s may not be %p', (name, value) => {
    const error = refusal({ [name]: value })
    expect(error.code).toBe('ERR_OPTION_INVALID')
    expect(error.message).toContain(`createClient: ${name}`)
  })

  it.each([['client_Id'], ['clientsecret'], ['timeout']])('may not be called %s', (name) => {
    expect(refusal({ [name]: CLIENT_SECRET })).toMatchObject({ code: 'ERR_OPTION_UNKNOWN' })
    expect(refusal({ [name]: CLIENT_SECRET }).message).not.toContain(CLIENT_SECRET)
  })

  it('are absent when they are undefined', () => {
    const absent = { timeoutMs: undefined, maxAttempts: undefined, fetch: undefined, logger: undefined }
    expect(() => createClient({ ...right, ...absent })).not.toThrow()
  })

  it('of a call are checked too', async () => {
    const client = createClient(right)
    await expect(client.accessToken({ sginal: undefined } as object)).rejects.toMatchObject({
      code: 'ERR_OPTION_UNKNOWN',
    })
    await expect(client.accessToken({ signal: {} as AbortSignal })).rejects.toMatchObject({
      code: 'ERR_OPTION_INVALID',
    })
    await expect(client.accounts.update('1', { name: 'x' }, null as never)).rejects.toMatchObject({
      code: 'ERR_OPTION_INVALID',
    })
  })
})
