import type { EntryId } from '../callback/callback.js'

/** One secret of a subscription. */
export interface SigningSecret {
  readonly eventTypeName: string
  readonly callbackUrl: string
  readonly secret: string
}

/** The latest stored callback that a secret has signed. */
export interface LastSigned {
  readonly entryId: EntryId
  readonly signedAt: Date
  readonly receivedAt: Date
}

export interface LastSignedReport {
  /** In the order of the secrets. Undefined for a secret that has signed none of the entries. */
  readonly seen: readonly (LastSigned | undefined)[]
  /** How many entries there are, including those of other subscriptions. */
  readonly entries: number
}
