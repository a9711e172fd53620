/** What a cause says to the operator. No text contains anything from the request or the configuration. */
export interface CauseTexts {
  /** What happened. */
  readonly message: string
  /** What is known of a likely finding, if the message says more than that. */
  readonly likely?: string
  /** What to change. */
  readonly cure: string
}

const TEXTS = {
  'secret-is-base64': {
    message:
      'The signature was made with the configured secret decoded from Base64: secretText is configured in place of the text, or the text itself was sent as secretText.',
    cure: 'Configure the decoded text. If the text was sent without encoding it, subscribe again with its Base64.',
  },
  'secret-encoded-twice': {
    message: 'The signature was made with the Base64 of the configured secret: it was encoded twice.',
    cure: 'Subscribe again with secretText encoded once, or configure the Base64 as the secret until then.',
  },
  'secret-white-space': {
    message:
      'The signature was made with a secret that differs in white space or invisible characters, such as a final line end or a byte order mark.',
    cure: 'Remove them from the configured secret. If they were part of what was sent as secretText, subscribe again without them.',
  },
  'secret-quotes': {
    message:
      'The signature was made with a secret that differs in quotes, backslashes or a NAME= prefix, which belong to the syntax of an environment file or a shell.',
    cure: 'Configure the secret without the syntax around it. Docker, for example, keeps quotes of an env file.',
  },
  'secret-hex-or-url-form': {
    message:
      'The signature was made with another spelling of the secret: hexadecimal digits, percent-encoding or character references.',
    cure: 'Configure the plain text that was encoded for secretText.',
  },
  'secret-of-other-subscription': {
    message: 'The signature was made with the secret of another subscription.',
    cure: 'Exchange the secrets in the configuration, or subscribe this URL with the secret that is configured for it.',
  },
  'secret-of-previous-rotation': {
    message: 'The signature was made with a secret that is not configured, but was given to be tried.',
    cure: 'If it was sent as secretText of this subscription, configure it, together with the current one while secrets are rotated. If it is for something else, such as the client secret, subscribe again with a secret that is only for callbacks.',
  },
  'secret-case': {
    message: 'The signature was made with a secret that has other upper-case or lower-case letters.',
    cure: 'Configure the secret exactly as it was encoded for secretText: its letters are case-sensitive.',
  },
  'secret-truncated': {
    message:
      'The signature was made with a longer or a shorter form of the secret: a # began a comment, a shell expanded a $, or a field was too short.',
    cure: 'Quote the secret with single quotes where it is set, or read it from a file.',
  },
  'secret-unicode-form': {
    message:
      'The signature was made with other bytes of the same characters: another Unicode normalization or character set.',
    cure: 'Use the same bytes on both sides: UTF-8, without normalization. A secret of ASCII characters avoids the question.',
  },
  'url-scheme-or-port': {
    message: 'The signature was made for the same host with another port.',
    cure: 'Configure the callbackUrl with the port that was subscribed. A default port is never part of the host.',
  },
  'url-host': {
    message: 'The signature was made for another host.',
    cure: 'Configure the callbackUrl with the host that was subscribed, not the one that the proxy forwards to.',
  },
  'url-trailing-slash': {
    message: 'The signature was made for a path that differs only in a slash at its end.',
    cure: 'Configure the path exactly as it was subscribed.',
  },
  'url-path': {
    message: 'The signature was made for another path.',
    cure: 'Configure the path that was subscribed, not the path behind a proxy or below a mount point.',
  },
  'url-query': {
    message: 'The signature was made for another query.',
    cure: 'Configure the query exactly as it was subscribed: its order and its encoding are part of what is signed.',
  },
  'url-encoding': {
    message: 'The signature was made for another spelling of the same path.',
    cure: 'Subscribe with the spelling that new URL(callbackUrl).href gives, and configure the same.',
  },
  'url-of-other-subscription': {
    message: 'The signature was made for the URL of another subscription, or for another URL that was tried.',
    cure: 'Exchange the URLs in the configuration, or subscribe again with the URL that is configured.',
  },
  'url-fragment': {
    message: 'The signature was made for a URL with a fragment.',
    cure: 'Subscribe again with a URL without a fragment.',
  },
  'timestamp-reformatted': {
    message:
      'The signature was made for another form of Authorization-Timestamp, or for a form that is not an HTTP date.',
    likely: 'Authorization-Timestamp is not an HTTP date.',
    cure: 'Have the proxy pass on Authorization-Timestamp unchanged. It must be an HTTP date: its exact text is signed.',
  },
  'timestamp-missing': {
    message: 'Authorization-Timestamp did not arrive.',
    cure: 'Have the proxy or gateway pass on Authorization-Timestamp.',
  },
  'timestamp-repeated': {
    message: 'Authorization-Timestamp arrived more than once.',
    cure: 'Have the proxy pass on the header once, without adding one of its own.',
  },
  'body-reserialised': {
    message: 'The body was parsed and serialised again: other bytes of the same JSON were signed.',
    cure: 'Pass on the bytes as they arrived. Mount the receiver before body parsers, and remove transformations from the gateway.',
  },
  'body-trimmed': {
    message: 'The body lost or gained a line end, white space around it or a byte order mark.',
    cure: 'Pass on the bytes as they arrived, not as a text.',
  },
  'body-decoded': {
    message: 'The body was decoded and encoded with another character set or encoding.',
    likely: 'The body may have been decoded with another character set.',
    cure: 'Pass on the bytes as they arrived, not as a text. Decode the Base64 of a serverless event.',
  },
  'body-decompressed': {
    message: 'The body was decompressed on the way: its compressed bytes were signed.',
    likely: 'The body may have been decompressed on the way.',
    cure: 'Switch off decompression of requests in the proxy.',
  },
  'body-compressed': {
    message:
      'The body is compressed: its uncompressed bytes were signed, or the receiver refuses its encoding.',
    likely: 'The body seems to be compressed.',
    cure: 'Switch off compression of requests in the proxy. The receiver verifies the bytes on the wire.',
  },
  'body-empty': {
    message: 'The body, or the body that was signed, is empty: something had read it before.',
    likely: 'The body is empty, or it is what a parser leaves of one.',
    cure: 'Mount the receiver before body parsers, or keep the bytes in req.rawBody.',
  },
  'body-truncated': {
    message: 'The length of the body is not its Content-Length.',
    cure: 'Look for a size limit or a timeout of the proxy. In a recorded file, look for converted line ends.',
  },
  'authorization-stripped': {
    message: 'Authorization did not arrive.',
    cure: 'Have the proxy or gateway pass on Authorization. Many remove it unless they are told not to.',
  },
  'authorization-replaced': {
    message: 'Authorization has credentials of another scheme in place of the signature.',
    cure: 'Have the proxy or gateway pass on Authorization, and not its own credentials.',
  },
  'authorization-repeated': {
    message: 'Authorization arrived more than once.',
    cure: 'Have the proxy pass on the header once, without adding one of its own.',
  },
  'authorization-hex': {
    message: 'The signature is written in hexadecimal digits.',
    likely: 'Authorization has hexadecimal digits, which may be the signature.',
    cure: 'Have the sender write it in standard Base64.',
  },
  'authorization-url-safe-base64': {
    message: 'The signature is written in URL-safe Base64, or its padding is missing.',
    likely: 'Authorization has URL-safe Base64, or Base64 without padding, which may be the signature.',
    cure: 'Have the sender write it in standard Base64 with padding.',
  },
  'authorization-scheme': {
    message: 'The signature is right, but Authorization does not have the form HMAC-SHA256 Signature=...',
    likely: 'Authorization does not have the form HMAC-SHA256 Signature=...',
    cure: 'Have the sender or the proxy write Authorization as: HMAC-SHA256 Signature=, and 44 characters of Base64.',
  },
  'signature-algorithm': {
    message: 'The signature was made with another algorithm than HMAC-SHA256.',
    likely: 'Authorization has a value with the length of a signature of another algorithm.',
    cure: 'Have the sender sign with HMAC-SHA256, and hash the body with SHA-256.',
  },
  'headers-renamed': {
    message: 'Authorization or Authorization-Timestamp arrived under another name.',
    likely: 'Another header has what may be the signature or the timestamp.',
    cure: 'Have the proxy pass on the header under its own name.',
  },
  'clock-skew': {
    message: 'The clock of this machine or of the service is wrong.',
    likely: 'The clock of this machine or of the service may be wrong.',
    cure: 'Synchronise the clock of this machine. If it is right, ask the service about theirs.',
  },
  'delivery-late': {
    message: 'The callback arrived later than toleranceMs allows.',
    cure: 'Raise toleranceMs if the service keeps the first timestamp when it delivers again.',
  },
  replayed: {
    message: 'The same signature arrived before under another idempotency key.',
    cure: 'Keep refusing it: whoever holds a captured delivery can send it under a new key.',
  },
  'forged-or-unknown': {
    message:
      'No change that was tried gives this signature: the callback is forged, or the cause is another one.',
    cure: 'Compare secret and callbackUrl with the subscription, and try previous secrets and other URLs with countersign verify.',
  },
} satisfies Record<string, CauseTexts>

/** The name of a cause: a key of `CAUSES`. */
export type Cause = keyof typeof TEXTS

/** The causes that a finding can name. Their names are stable; docs/diagnosis.md has a heading for each. */
export const CAUSES: Readonly<Record<Cause, CauseTexts>> = TEXTS
