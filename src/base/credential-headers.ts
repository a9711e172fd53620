/**
 * Names of headers that hold credentials, also those that gateways add under names of their own, such as
 * Ocp-Apim-Subscription-Key, X-Goog-Iap-Jwt-Assertion and X-Amzn-Oidc-Data. X-Idempotency-Key matches as well, but is no
 * credential.
 */
export const CREDENTIAL_NAME = /cookie|token|secret|passw|key$|session|credential|jwt|assertion|oidc|[cx]srf/i

/** The beginning of a JSON Web Token, which is an object in base64url (RFC 7519). */
export const JWT_START = /(?<![\w-])eyJ[\w-]*\./

/**
 * The source of a pattern for schemes of Authorization other than the service's: those that IANA has registered, and those of
 * clouds and gateways, such as AWS4-HMAC-SHA256, GOOG4-RSA-SHA256 and EG1-HMAC-SHA256.
 */
export const FOREIGN_SCHEME = [
  '[a-z\\d]{1,12}-(?:hmac|rsa|ecdsa)-[a-z\\d]{1,12}(?:-[a-z\\d]{1,12})?',
  'scram-sha-(?:1|256)',
  'sharedaccesssignature|sharedkeylite|privatetoken|googlelogin',
  'basic|bearer|digest|negotiate|ntlm|kerberos|oauth|dpop|gnap|hawk|hoba|mutual|vapid|concealed',
  'token|apikey|jwt|aws|goog1|ssws|splunk',
].join('|')

/** A value that begins with such a scheme. */
export const FOREIGN_SCHEME_START = new RegExp(`^\\s*(${FOREIGN_SCHEME})(?=[\\s:=]|$)`, 'i')
