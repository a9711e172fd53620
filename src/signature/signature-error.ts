export type SignatureInputCode =
  'ERR_CALLBACK_URL_INVALID' | 'ERR_SECRET_INVALID' | 'ERR_TIMESTAMP_MALFORMED' | 'ERR_BODY_NOT_BYTES'

/** Thrown for input that cannot be signed, or a subscription that nothing can be verified against. */
export class SignatureInputError extends TypeError {
  readonly code: SignatureInputCode

  constructor(code: SignatureInputCode, message: string) {
    super(message)
    this.name = 'SignatureInputError'
    this.code = code
  }
}
