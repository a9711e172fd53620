import { channel } from 'node:diagnostics_channel'

/** The callbacks of one batch of requests: `{ size }`. */
export const BATCH_CHANNEL = 'countersign.batch'
/** One commit of an inbox, from its start until it is durable: `{ size, durationMs }`; `size` is the number of calls that shared it. */
export const COMMIT_CHANNEL = 'countersign.commit'

export interface BatchMeasurement {
  readonly size: number
}

export interface CommitMeasurement {
  readonly size: number
  readonly durationMs: number
}

// Channels of Node and not events, because an inbox and a batch belong to no callback. Without a subscriber only
// `hasSubscribers` is read. The channels are shared with the other build of this package.
export const batchChannel = channel(BATCH_CHANNEL)
export const commitChannel = channel(COMMIT_CHANNEL)
