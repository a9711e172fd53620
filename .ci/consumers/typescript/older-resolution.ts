import { createReceiver, type CallbackEvent } from 'countersign'
import { forwardTo, type ForwardedCallback } from 'countersign/bullmq'
import { createClient } from 'countersign/client'
import { createConsole, type WebConsole } from 'countersign/console'
import { RedisIdempotencyStore } from 'countersign/redis'
import { PostgresInbox } from 'countersign/postgres'
import { prometheusMetrics } from 'countersign/prometheus'
import { signCallback } from 'countersign/signature'
import { SqliteInbox } from 'countersign/sqlite'
import { signedCallback } from 'countersign/testing'

const { COUNTERSIGN_BASE_URL: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = process.env
export const client = createClient({ baseUrl, clientId, clientSecret })

const subscription = {
  id: 'tenant-1',
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'the secret text of a consumer',
}
export const receiver = createReceiver({
  subscriptions: [subscription],
  inbox: new SqliteInbox({ file: 'callbacks.db' }),
})
declare const queue: { name: string; add(name: string, data: ForwardedCallback): Promise<{ id?: string }> }
receiver.onAny(forwardTo(queue))
export const pages: WebConsole = createConsole({ receiver, operator: () => ({ name: 'ada', role: 'view' }) })
// Without prom-client.
export const unobserve: () => void = prometheusMetrics().observe(receiver)
export const idOf = (event: CallbackEvent): string => event.subscription.id
export const body: Buffer = signedCallback({ subscription }).body
export const inbox = new PostgresInbox({ connectionString: 'postgres://127.0.0.1/test' })
// @ts-expect-error these are types, and not any
signCallback({ callbackUrl: 1 })
// The package redis is not installed here: a client is what has its methods.
export const store = new RedisIdempotencyStore({ client: { sendCommand: async () => 'OK' } })
