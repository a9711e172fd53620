import { getReceiver } from '../../../receiver.js'

// The inbox and node:crypto need Node, not the edge runtime.
export const runtime = 'nodejs'

export const POST = (request) => getReceiver().fetch(request)
