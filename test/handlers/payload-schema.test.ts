import type { CallbackEvent } from '../../src/callback/callback.js'
import { applySchema } from '../../src/handlers/payload-schema.js'
import type { StandardResult } from '../../src/handlers/standard-schema.js'

const event = { payload: { Id: '1' }, type: 'a.b' } as unknown as CallbackEvent

function apply(result: StandardResult<unknown> | Promise<StandardResult<unknown>>): Promise<CallbackEvent> {
  return applySchema(event, { '~standard': { version: 1, vendor: 'test', validate: () => result } })
}

describe('applySchema', () => {
  it('puts in place of the payload what the schema made of it, in an event of its own', async () => {
    expect(await apply({ value: 5 })).toEqual({ payload: 5, type: 'a.b' })
    expect(event.payload).toEqual({ Id: '1' })
  })

  it('keeps what is no value for a value', async () => {
    expect(await apply({ value: undefined })).toEqual({ payload: undefined, type: 'a.b' })
  })

  it('names places by keys, indexes and symbols, in either of the two forms of a path', async () => {
    const issues = [
      { message: 'm', path: ['lines', 0, { key: 'amount' }] },
      { message: 'm', path: [Symbol('s')] },
      { message: 'm' },
      { message: 'm', path: [] },
    ]
    await expect(apply({ issues })).rejects.toThrow(
      /^the payload does not fit its schema at: lines\.0\.amount, Symbol\(s\), the payload itself, the payload itself$/,
    )
  })

  it('does not repeat the messages of a schema, which may quote the payload', async () => {
    await expect(apply({ issues: [{ message: 'got 4242 4242', path: ['card'] }] })).rejects.toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('4242') }),
    )
  })

  it('bounds what it says, as the sender chooses the keys', async () => {
    const issues = Array.from({ length: 1_000 }, () => ({ message: 'm', path: ['k'.repeat(10_000)] }))
    const error = await apply({ issues }).catch((reason: Error) => reason)
    expect((error as Error).message.length).toBeLessThan(1_500)
  })

  it('takes an empty list of issues for a refusal', async () => {
    await expect(apply({ issues: [] })).rejects.toMatchObject({ name: 'PayloadInvalidError' })
  })
})
