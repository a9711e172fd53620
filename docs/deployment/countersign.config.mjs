// /etc/countersign/countersign.config.mjs: for countersign@.service, and for operators.
const { COUNTERSIGN_PORT: port = '3001', CREDENTIALS_DIRECTORY: secrets = '/etc/countersign/secrets' } =
  process.env

export default {
  port: Number(port),
  subscriptions: [
    {
      eventTypeName: 'transfers.book-completed',
      callbackUrl: 'https://partner.example.com/hooks/transfers',
      secret: { file: `${secrets}/transfers.secret` },
    },
  ],
  handlers: '/opt/countersign/handlers.mjs',
  inbox: { file: '/var/lib/countersign/callbacks.db' },
  // 9001 for the instance on port 3001. Prometheus runs on this machine.
  admin: { port: Number(port) + 6000 },
  // HAProxy asks /readyz once a second.
  shutdownDelayMs: 3_000,
}
