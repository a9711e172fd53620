/**
 * Names of headers that hold credentials, also those that gateways add under names of their own, such as
 * Ocp-Apim-Subscription-Key, X-Goog-Iap-Jwt-Assertion and X-Amzn-Oidc-Data. X-Idempotency-Key matches as well, but is no
 * credential.
 */
export const CREDENTIAL_NAME = /cookie|token|secret|passw|key$|session|credential|jwt|assertion|oidc|[cx]srf/i

/** The beginning of a JSON Web Token, which is an object in base64url (RFC 7519). */
export const JWT_START = /(?<![\w-])eyJ[\w-]*\./
