import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { FORGED, genuine } from '../support/running-receiver.js'

const whole = genuine().headers['Authorization']!
const signature = whole.slice(whole.indexOf('=') + 1)

// As a proxy sends it that has put Authorization into another header.
describe.each([
  ['a genuine callback', {}],
  ['a forged callback', { Authorization: FORGED }],
])('%s', (_kind, others) => {
  it.each([
    ['X-Event-Type', 'Authorization as it is', whole],
    ['X-Event-Type', 'the signature alone', signature],
    ['X-Event-Type', 'another word before it', `type ${whole}`],
    ['X-Event-Type', 'cut by the limit of the line', `${'a '.repeat(30)}${signature}`],
    ['X-Idempotency-Key', 'Authorization as it is', whole],
    ['X-Idempotency-Key', 'the scheme in lower case', whole.replace('HMAC-SHA256 S', 'hmac-sha256 s')],
  ])('with its signature in %s, %s: no log line, event or entry has it', async (header, _form, value) => {
    const { receiver, send, log, entries } = await runInboxReceiver()
    const events: unknown[] = []
    receiver.events.on('answered', (event) => events.push(event))
    await send(genuine({ headers: { ...others, [header]: value } }))
    expect(events).toHaveLength(1)
    const shown = [log.text(), JSON.stringify(events), JSON.stringify(await entries())].join('\n')
    expect(shown).toContain('[hidden]')
    expect(shown).not.toContain(signature.slice(0, 20))
  })
})

it('a long event type or key is otherwise shown as it arrived', async () => {
  const { send, log, entries } = await runInboxReceiver()
  const type = 'transfers.book-completed.of-an-account-that-is-not-mine'
  await send(genuine({ headers: { 'X-Event-Type': type } }))
  await send(genuine({ headers: { 'X-Idempotency-Key': type } }))
  expect(log.lines[0]!.fields['eventType']).toBe(type)
  expect(log.lines[1]!.fields['idempotencyKey']).toBe(type)
  expect(await entries()).toMatchObject([{ eventType: type }])
})
