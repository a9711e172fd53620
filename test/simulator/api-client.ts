import { randomUUID } from 'node:crypto'
import type { ServiceSimulatorOptions } from '../../src/simulator/options.js'
import type { ServiceSimulator } from '../../src/simulator/service-simulator.js'
import { runSimulator } from './running-simulator.js'

export const SECRET = 's3cret~Text-äöü'
export const SUBSCRIPTION = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secretText: Buffer.from(SECRET).toString('base64'),
  description: 'Transfers',
}

export interface Client {
  readonly simulator: ServiceSimulator
  readonly token: string
  readonly port: number
  call(
    method: string,
    path: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; headers: Headers; text: string }>
  subscribe(body?: unknown, headers?: Record<string, string>): ReturnType<Client['call']>
  update(body: unknown, path?: string): ReturnType<Client['call']>
}

export async function client(options?: ServiceSimulatorOptions): Promise<Client> {
  const simulator = await runSimulator(options)
  const { clientId, clientSecret } = simulator.credentials
  const response = await fetch(`${simulator.baseUrl}/security/v1/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_Id: clientId,
      client_Secret: clientSecret,
    }),
  })
  const { access_token: token } = (await response.json()) as { access_token: string }
  const call: Client['call'] = async (method, path, body, headers = {}) => {
    const content = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
    const init: RequestInit = {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
      body: content,
    }
    const answer = await fetch(simulator.baseUrl + path, init)
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  return {
    simulator,
    token,
    port: Number(new URL(simulator.baseUrl).port),
    call,
    subscribe: (body = SUBSCRIPTION, headers = {}) =>
      call('POST', '/webhooks/v1/', body, { 'X-Idempotency-Key': randomUUID(), ...headers }),
    update: (body, path = '/accounts/v1/a1') => call('PUT', path, body),
  }
}
