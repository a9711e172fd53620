// The configuration of a `countersign serve` that may be killed.
import { EMPTYING, handler, handles, openInbox, subscription } from './striking.mjs'

export default {
  port: 0,
  subscriptions: [subscription],
  inbox: await openInbox(),
  ...EMPTYING,
  logLevel: 'info',
  logFormat: 'json',
  ...(handles && { handlers: { [subscription.eventTypeName]: handler } }),
}
