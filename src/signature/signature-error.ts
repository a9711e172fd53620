export type SignatureInputCode =
  'ERR_CALLBACK_URL_INVALID' | 'ERR_SECRET_INVALID' | 'ERR_TIMESTAMP_MALFORMED' | 'ERR_BODY_NOT_BYTES'

/** Thrown for input that cannot be signed, or for a subscription with which no callback can be verified. */
export class SignatureInputError extends TypeError {
  readonly code: SignatureInputCode

  constructor(code: SignatureInputCode, message: string) {
    super(message)
    this.name = 'SignatureInputError'
    this.code = code
  }
}
