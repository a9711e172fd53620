import { BODIES } from './deployments/changed-bodies.js'
import { HEADERS } from './deployments/changed-headers.js'
import { CLOCKS } from './deployments/clocks.js'
import type { Deployment } from './deployments/deployment.js'
import { PAIRS } from './deployments/two-mistakes.js'
import { SECRETS } from './deployments/wrong-secrets.js'
import { URLS } from './deployments/wrong-urls.js'
import { received } from './signed-elsewhere.js'

const NOTHING_FITS: Deployment = {
  mistake: 'another secret altogether',
  cause: 'forged-or-unknown',
  certainty: 'likely',
  request: received({ secret: 'nobody-knows-this-0123456789' }),
}

export const DEPLOYMENTS: Deployment[] = [
  ...SECRETS,
  ...URLS,
  ...HEADERS,
  ...BODIES,
  ...CLOCKS,
  ...PAIRS,
  NOTHING_FITS,
]
