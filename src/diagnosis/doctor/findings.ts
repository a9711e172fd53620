/** `problem`: callbacks are refused, late or at risk. `note`: a change that is harmless, and good to know. */
type Severity = 'problem' | 'note'

interface FindingTexts {
  readonly severity: Severity
  readonly message: string
  readonly cure: string
}

/** What doctor can find. The names are stable, and docs/doctor.md has a section for each. */
export const DOCTOR_FINDINGS = {
  'dns-failed': {
    severity: 'problem',
    message: 'The name of the host has no address.',
    cure: 'Create the DNS record, or correct the host of the URL.',
  },
  'connection-failed': {
    severity: 'problem',
    message: 'An address of the host accepts no connection.',
    cure: 'Check the firewall, the port and the listening address of the proxy. Remove DNS records of addresses that are not served.',
  },
  'address-not-tried': {
    severity: 'note',
    message: 'This machine has no route to an address of the host, for example because it has no IPv6.',
    cure: 'Nothing has to be changed. To try the address, run doctor on a machine that has a route to it.',
  },
  'tls-failed': {
    severity: 'problem',
    message: 'The TLS handshake failed.',
    cure: 'Serve TLS 1.2 or 1.3 on this port, with a certificate for this host.',
  },
  'tls-not-trusted': {
    severity: 'problem',
    message: 'The certificate is not trusted.',
    cure: 'Serve the whole chain, issued by a public authority, for this host.',
  },
  'tls-expires-soon': {
    severity: 'problem',
    message: 'The certificate expires within 14 days.',
    cure: 'Renew it, and check the automatic renewal.',
  },
  'not-encrypted': {
    severity: 'note',
    message: 'The URL is http: callbacks can be read on the way.',
    cure: 'Subscribe with an https URL in production.',
  },
  redirected: {
    severity: 'problem',
    message: 'The URL redirects. A sender that follows sends another request, or a GET without a body.',
    cure: 'Subscribe with the URL that answers without a redirect, or remove the redirect for this path.',
  },
  'no-answer': {
    severity: 'problem',
    message: 'The connection was opened, but no answer came.',
    cure: 'Check the log of the proxy, its timeouts, and whether it speaks the protocol of the URL on this port.',
  },
  'probe-lost': {
    severity: 'problem',
    message: 'Some probes did not get through, whatever their form.',
    cure: 'Look for a server or an address behind the URL that is not this receiver, and into the log of the proxy. A callback is lost in the same way.',
  },
  'receiver-unreachable': {
    severity: 'problem',
    message: 'A proxy answered that it cannot reach the receiver.',
    cure: 'Start the receiver, and check the address that the proxy forwards to.',
  },
  'receiver-unavailable': {
    severity: 'problem',
    message: 'The receiver answered that it is not available.',
    cure: 'Look into its log: it is stopping, its memory for bodies is full, or its subscriptions cannot be read.',
  },
  'refused-on-the-way': {
    severity: 'problem',
    message: 'A proxy or another program refused the request.',
    cure: 'Exempt this path from the login, the firewall or the rule that refuses it. Callbacks authenticate themselves.',
  },
  'not-the-receiver': {
    severity: 'problem',
    message: 'Another program than the receiver answered.',
    cure: 'Check the path of the URL, and to where the proxy forwards it.',
  },
  'not-recognised': {
    severity: 'problem',
    message: 'The receiver answered as to any unauthenticated request: it did not recognise the probe.',
    cure: 'Check that it has this secret, that `probes` is not false, that its version answers probes, and that fewer than 120 probes a minute arrive. A proxy may also have removed every marker.',
  },
  'clock-differs': {
    severity: 'problem',
    message: 'The clocks of the receiver and of this machine differ.',
    cure: 'Synchronise both with NTP. Callbacks are refused if they are too old or too far in the future for the clock of the receiver.',
  },
  'authorization-stripped': {
    severity: 'problem',
    message: 'Authorization did not arrive.',
    cure: 'Let the proxy forward Authorization unchanged: every callback is refused without it.',
  },
  'authorization-replaced': {
    severity: 'problem',
    message: 'Authorization arrived with another value.',
    cure: 'Remove the rule with which the proxy sets Authorization for this path.',
  },
  'header-renamed': {
    severity: 'problem',
    message: 'A header of callbacks arrived under another name.',
    cure: 'Let the proxy forward the header under its own name.',
  },
  'header-dropped': {
    severity: 'problem',
    message: 'A header of callbacks did not arrive.',
    cure: 'Let the proxy forward the header.',
  },
  'header-repeated': {
    severity: 'problem',
    message: 'A header of callbacks arrived more than once.',
    cure: 'Let the proxy forward the header, and not add it.',
  },
  'header-changed': {
    severity: 'problem',
    message: 'A header of callbacks arrived with another value.',
    cure: 'Let the proxy forward the header unchanged.',
  },
  'body-consumed': {
    severity: 'problem',
    message: 'A parser in the application read the body before the receiver.',
    cure: 'Mount the receiver before express.json() and other parsers.',
  },
  'body-empty': {
    severity: 'problem',
    message: 'The body did not arrive.',
    cure: 'Let the proxy forward the body. A redirect within the proxy can also lose it.',
  },
  'body-truncated': {
    severity: 'problem',
    message: 'Only the beginning of the body arrived.',
    cure: 'Raise the limit that cuts bodies, or remove the filter.',
  },
  'body-compressed': {
    severity: 'problem',
    message: 'The body arrived with a Content-Encoding.',
    cure: 'Switch off the compression of request bodies: the signature covers the bytes that were sent.',
  },
  'body-reserialised': {
    severity: 'problem',
    message: 'The body was parsed and serialised again.',
    cure: 'Let the gateway pass the body through as bytes.',
  },
  'body-trimmed': {
    severity: 'problem',
    message: 'White space of the body was changed.',
    cure: 'Let the gateway pass the body through as bytes.',
  },
  'body-decoded': {
    severity: 'problem',
    message: 'The body was decoded as text and encoded again.',
    cure: 'Let the gateway pass the body through as bytes.',
  },
  'body-changed': {
    severity: 'problem',
    message: 'The body arrived with other bytes.',
    cure: 'Look for a filter or a gateway that rewrites bodies, and let it pass them through.',
  },
  'body-limit': {
    severity: 'problem',
    message: 'A body within maxBodyBytes was refused on the way.',
    cure: 'Raise the limit of the proxy (nginx: client_max_body_size), or lower maxBodyBytes.',
  },
  'chunked-refused': {
    severity: 'problem',
    message: 'A chunked body did not get through.',
    cure: 'Let the proxy accept Transfer-Encoding: chunked. A sender need not know the length of a body.',
  },
  'slow-upload-cut': {
    severity: 'problem',
    message: 'A body whose second half came late did not get through.',
    cure: 'Raise the time that the proxy waits for a body (nginx: client_body_timeout, HAProxy: timeout http-request), or bodyTimeoutMs of the receiver.',
  },
  'expect-mishandled': {
    severity: 'problem',
    message: 'Expect: 100-continue was not answered with 100 Continue.',
    cure: 'Let the proxy answer Expect itself. Senders such as curl and .NET use it and wait.',
  },
  'http2-failed': {
    severity: 'problem',
    message: 'The server offers HTTP/2, but a probe over HTTP/2 did not get through.',
    cure: 'Correct HTTP/2 in the proxy, or switch it off.',
  },
  'slow-path': {
    severity: 'problem',
    message: 'The answer took longer than 2 seconds.',
    cure: 'Look for a slow proxy, DNS or TLS set-up. The service may give up and send the callback again.',
  },
  'path-rewritten': {
    severity: 'note',
    message: 'The path or query arrived changed.',
    cure: 'Nothing has to be changed: the signature is checked with the configured callbackUrl.',
  },
  'body-buffered': {
    severity: 'note',
    message: 'A proxy collects the whole body of a request before it forwards the body.',
    cure: 'Nothing has to be changed. The proxy needs room for bodies of maxBodyBytes.',
  },
} as const satisfies Record<string, FindingTexts>

export type DoctorFindingName = keyof typeof DOCTOR_FINDINGS

export interface DoctorFinding extends FindingTexts {
  readonly name: DoctorFindingName
  /** What was seen. It contains no secret and no value of a header. */
  readonly seen?: string
}

export function doctorFinding(name: DoctorFindingName, seen?: string): DoctorFinding {
  return { name, ...DOCTOR_FINDINGS[name], ...(seen !== undefined && { seen }) }
}

/** Two findings with the same id are one. */
export function findingId({ name, seen }: DoctorFinding): string {
  return `${name} ${PER_PLACE.has(name) ? seen : ''}`
}

/** Findings about a header or an address, of which there may be several. */
const PER_PLACE: ReadonlySet<string> = new Set([
  'connection-failed',
  'address-not-tried',
  'header-renamed',
  'header-dropped',
  'header-repeated',
  'header-changed',
])
