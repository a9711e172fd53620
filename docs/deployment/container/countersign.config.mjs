// In the image, for Docker and Kubernetes.
const { DATABASE_URL_FILE: databaseUrlFile } = process.env

// In Kubernetes each file of a mounted secret is a symbolic link.
const mounted = (file) => ({ file, followSymbolicLinks: true })

export default {
  host: '0.0.0.0',
  subscriptions: [
    {
      eventTypeName: 'transfers.book-completed',
      callbackUrl: 'https://partner.example.com/hooks/transfers',
      secret: mounted('/run/secrets/countersign/transfers.secret'),
    },
  ],
  handlers: './handlers.mjs',
  inbox: databaseUrlFile
    ? { postgres: { connectionString: mounted(databaseUrlFile) } }
    : { file: '/var/lib/countersign/callbacks.db' },
  admin: { host: '0.0.0.0', port: 9464, metricsToken: mounted('/run/secrets/countersign-metrics/token') },
}
