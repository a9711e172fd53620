export default {
  subscriptions: [
    {
      eventTypeName: 'transfers.book-completed',
      // Exactly as it was subscribed: its path, query and host are part of what is signed.
      callbackUrl: 'https://partner.example.com/hooks/transfers',
      secret: { env: 'CALLBACK_SECRET' },
    },
  ],
  handlers: './handlers.mjs',
}
