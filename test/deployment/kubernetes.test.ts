import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { safeLoadAll } from 'js-yaml'
import { countersign } from '../cli/program.js'
import { freePort } from '../support/server-program.js'
import { unpackedImage } from './container.js'

type Labels = Readonly<Record<string, string>>

interface Container {
  readonly args: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly readinessProbe: Probe
  readonly livenessProbe: Probe
  readonly securityContext: object
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface Pod {
  readonly terminationGracePeriodSeconds: number
  readonly automountServiceAccountToken: boolean
  readonly enableServiceLinks?: boolean
  readonly securityContext: object
  readonly containers: readonly [Container]
  readonly volumes: readonly { readonly name: string; readonly secret?: { readonly defaultMode: number } }[]
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly replicas?: number
    readonly strategy?: unknown
    readonly accessModes?: readonly string[]
    readonly selector?: Labels & { readonly matchLabels?: Labels }
    readonly podSelector?: { readonly matchLabels: Labels }
    readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod }
    readonly ports?: readonly { readonly targetPort: string }[]
    readonly ingress?: readonly { readonly ports: readonly { readonly port: string }[] }[]
  }
}

const manifestsOf = (file: string) => {
  const path = join(__dirname, '../../docs/deployment/kubernetes', file)
  return safeLoadAll(readFileSync(path, 'utf8')) as Manifest[]
}

const FILES = ['sqlite.yaml', 'postgres.yaml'] as const
const DEPLOYMENTS = FILES.flatMap((file) =>
  manifestsOf(file)
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ metadata, spec }) => ({ file, name: metadata.name, spec, pod: spec.template!.spec })),
)

/** The variable that Kubernetes sets for a Service in the pods of its namespace. */
const serviceLinks = (file: string, { enableServiceLinks = true }: Pod) =>
  manifestsOf(file)
    .filter(({ kind }) => kind === 'Service' && enableServiceLinks)
    .map(({ metadata }) => [`${metadata.name.toUpperCase().replaceAll('-', '_')}_PORT`, 'tcp://10.96.0.9:80'])

const selects = (selector: Labels, labels: Labels) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)

describe.each(DEPLOYMENTS)('$name of $file', ({ file, spec, pod }) => {
  const [container] = pod.containers
  const portNames = container.ports.map(({ name }) => name)

  it('selects its own pods, and probes a port that its pods have', () => {
    expect(selects(spec.selector!.matchLabels!, spec.template!.metadata.labels)).toBe(true)
    const { startupProbe, readinessProbe, livenessProbe } = container
    expect([startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => httpGet.path)).toEqual([
      '/healthz',
      '/readyz',
      '/healthz',
    ])
    for (const { httpGet } of [startupProbe, readinessProbe, livenessProbe])
      expect(portNames).toContain(httpGet.port)
  })

  it('has no more rights than it needs', () => {
    expect(pod.automountServiceAccountToken).toBe(false)
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    for (const { secret } of pod.volumes) if (secret) expect(secret.defaultMode).toBe(0o440)
  })

  it('mounts each volume that it has, and no other', () => {
    const mounted = container.volumeMounts.map(({ name }) => name)
    expect(mounted.toSorted()).toEqual(pod.volumes.map(({ name }) => name).toSorted())
  })

  it('starts with the configuration of the image, and has the time to stop that this allows', async () => {
    const port = await freePort()
    const database = 'postgres://countersign@127.0.0.1:1/none'
    const { app, secrets } = unpackedImage(port, { 'countersign-database/url': database })
    const env = Object.fromEntries([
      ...serviceLinks(file, pod),
      ...(container.env ?? []).map(({ name, value }) => [name, value.replace('/run/secrets', secrets)]),
    ])
    const [command, ...flags] = container.args
    const ran = await countersign(['serve', '--check', '--json', ...(command === 'serve' ? flags : [])], {
      cwd: app,
      env,
    })
    const { listen, inbox, limits, problems, admin } = JSON.parse(ran.stdout)
    const usesDatabase = 'DATABASE_URL_FILE' in env
    expect({ listen, admin }).toEqual({
      listen: { host: '0.0.0.0', port },
      admin: { host: '0.0.0.0', port: 0, hasToken: true, console: null },
    })
    expect(inbox).toContain(usesDatabase ? '127.0.0.1:1' : 'callbacks.db')
    expect(problems.map(({ code }: { code: string }) => code)).toEqual(
      usesDatabase ? ['ERR_INBOX_UNREACHABLE'] : [],
    )
    const delayMs = command === 'serve' ? limits.shutdownDelayMs : 0
    expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(delayMs + limits.stopTimeoutMs + 5_000)
  })
})

describe.each(FILES)('%s', (file) => {
  const manifests = manifestsOf(file)
  const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
  const templates = ofKind('Deployment').map(({ spec }) => spec.template!)

  it('sends callbacks to receivers only, and lets nobody else reach the admin port', () => {
    const [service] = ofKind('Service')
    const reached = templates.filter(({ metadata }) => selects(service!.spec.selector!, metadata.labels))
    expect(reached.map(({ spec }) => spec.containers[0].args[0])).toEqual(['serve'])
    expect(service!.spec.ports!.map(({ targetPort }) => targetPort)).toEqual(['callbacks'])
    const [policy] = ofKind('NetworkPolicy')
    for (const { metadata } of templates)
      expect(selects(policy!.spec.podSelector!.matchLabels, metadata.labels)).toBe(true)
    expect(policy!.spec.ingress!.map(({ ports }) => ports.map(({ port }) => port))).toEqual([
      ['callbacks'],
      ['admin'],
    ])
  })
})

it('sqlite.yaml never runs two pods on one volume, replaces the pod soon, and keeps the mode of the inbox', () => {
  const [{ spec, pod }] = DEPLOYMENTS.filter(({ file }) => file === 'sqlite.yaml') as [
    (typeof DEPLOYMENTS)[0],
  ]
  expect(spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
  expect(pod.securityContext).toMatchObject({ fsGroupChangePolicy: 'OnRootMismatch' })
  // Kubernetes starts the next pod when this one has ended.
  const delay = pod.containers[0].env!.find(({ name }) => name === 'COUNTERSIGN_SHUTDOWN_DELAY_MS')
  expect(Number(delay!.value)).toBeLessThanOrEqual(5_000)
  const [claim] = manifestsOf('sqlite.yaml')
  expect(claim!.spec.accessModes).toEqual(['ReadWriteOnce'])
})

it('postgres.yaml keeps a receiver while nodes are drained, and gives the workers no secret of a subscription', () => {
  const manifests = manifestsOf('postgres.yaml')
  const budget = manifests.find(({ kind }) => kind === 'PodDisruptionBudget')!
  const [receiver, worker] = manifests.filter(({ kind }) => kind === 'Deployment')
  expect(selects(budget.spec.selector!.matchLabels!, receiver!.spec.template!.metadata.labels)).toBe(true)
  expect(receiver!.spec).toMatchObject({ replicas: 2, strategy: { rollingUpdate: { maxUnavailable: 0 } } })
  const paths = worker!.spec.template!.spec.containers[0].volumeMounts.map(({ mountPath }) => mountPath)
  expect(paths).not.toContain('/run/secrets/countersign')
})
