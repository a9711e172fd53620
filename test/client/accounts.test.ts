import fc from 'fast-check'
import { accountRequest } from '../../src/client/accounts.js'
import { clientOf, json, rejection, startService } from './service.js'
import { anyText } from '../support/any-text.js'

describe('accounts.update', () => {
  it('sends what SERVICE 4.3 shows', async () => {
    const service = await startService()
    await clientOf(service).accounts.update('4711', { name: 'Savings', searchable: false })

    const { method, path, headers, body } = service.apiRequests[0]!
    expect({ method, path }).toEqual({ method: 'PUT', path: '/accounts/v1/4711' })
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      authorization: `Bearer ${service.tokens[0]}`,
    })
    expect(JSON.parse(body)).toEqual({ name: 'Savings', searchable: false })
  })

  it.each([
    [{ name: '' }, { name: '' }],
    [{ searchable: true }, { searchable: true }],
    [{ name: 'Savings', searchable: undefined }, { name: 'Savings' }],
  ])('sends what is given and no more: %j', async (update, sent) => {
    const service = await startService()
    await clientOf(service).accounts.update('4711', update)
    expect(JSON.parse(service.apiRequests[0]!.body)).toEqual(sent)
  })

  it.each([
    ['a/b', '/accounts/v1/a%2Fb'],
    ['../../webhooks/v1', '/accounts/v1/..%2F..%2Fwebhooks%2Fv1'],
    ['%2e%2e', '/accounts/v1/%252e%252e'],
    ['a?b#c', '/accounts/v1/a%3Fb%23c'],
    ['a\\b', '/accounts/v1/a%5Cb'],
    ['Größe 1', '/accounts/v1/Gr%C3%B6%C3%9Fe%201'],
    ['...', '/accounts/v1/...'],
  ])('sends the account id %j as one segment', async (accountId, path) => {
    const service = await startService()
    await clientOf(service).accounts.update(accountId, { name: 'x' })
    expect(service.apiRequests[0]!.path).toBe(path)
  })

  it('finds any account id again in the path that is sent, and never another path', () => {
    fc.assert(
      fc.property(
        fc.oneof(anyText({ minLength: 1 }), fc.stringMatching(/^[/?#%.&=;\\ \n]+$/)),
        (accountId) => {
          fc.pre(accountId !== '.' && accountId !== '..')
          const { path } = accountRequest(accountId, { name: 'x' })
          const { pathname, search, hash } = new URL(`https://bank.example${path}`)
          expect({ search, hash }).toEqual({ search: '', hash: '' })
          expect(pathname.split('/')).toHaveLength(4)
          expect(decodeURIComponent(pathname.slice('/accounts/v1/'.length))).toBe(accountId)
        },
      ),
    )
  })

  it.each([[''], ['.'], ['..'], [undefined], [4711], ['\ud800']])(
    'refuses the account id %j',
    async (accountId) => {
      const service = await startService()
      const error = await rejection(clientOf(service).accounts.update(accountId as string, { name: 'x' }))
      expect(error).toMatchObject({ code: 'ERR_OPTION_INVALID' })
      expect(error.message).toContain('accountId')
      expect(service.tokenRequests).toEqual([])
    },
  )

  it.each([
    ['nothing', {}],
    ['only what is undefined', { name: undefined }],
    ['a name that is no text', { name: 7 }],
    ['searchable as a text', { searchable: 'false' }],
    ['a field that is not shown', { name: 'x', iban: 'DE00' }],
    ['null', null],
  ])('refuses %s', async (_what, update) => {
    const service = await startService()
    const error = await rejection(clientOf(service).accounts.update('4711', update as never))
    expect(error.code).toMatch(/^ERR_OPTION_(INVALID|UNKNOWN)$/)
    expect(error.message).toContain('accounts.update')
    expect(service.tokenRequests).toEqual([])
  })

  it('is repeated like a new subscription', async () => {
    const service = await startService({
      api: (response, { socket }, count) => (count === 1 ? socket.destroy() : json(response, 200, {})),
    })
    expect(await clientOf(service).accounts.update('4711', { name: 'x' })).toMatchObject({ status: 200 })
    expect(service.apiRequests).toHaveLength(2)
  })
})
