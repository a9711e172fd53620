import { createClient } from 'redis'

export async function connect() {
  const client = createClient({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' })
  // Without a listener, a connection that breaks would end the process. The client connects again by itself.
  client.on('error', (error) => console.error(error.message))
  await client.connect()
  return client
}
