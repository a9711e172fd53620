import { CountersignError, recognise } from '../base/errors.js'

/** The codes of input that can be neither signed nor verified. */
export type SignatureInputCode =
  'ERR_CALLBACK_URL_INVALID' | 'ERR_SECRET_INVALID' | 'ERR_TIMESTAMP_MALFORMED' | 'ERR_BODY_NOT_BYTES'

/** Thrown for input that cannot be signed, or for a subscription with which no callback can be verified. */
export class SignatureInputError extends CountersignError<SignatureInputCode> {
  static {
    recognise(this, 'SignatureInputError')
  }

  constructor(code: SignatureInputCode, message: string) {
    super(code, message)
    this.name = 'SignatureInputError'
  }
}
