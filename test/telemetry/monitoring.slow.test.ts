import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DoNotRetryError } from '../../src/index.js'
import { prometheusMetrics } from '../../src/prometheus.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { itWhere } from '../support/it-where.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { FORGED, genuine, runReceiver } from '../support/running-receiver.js'
import { findProgram, freePort, ServerProcess, temporaryFolder } from '../support/server-program.js'
import { inboxFile } from '../support/sqlite-file.js'
import { until } from '../support/until.js'
import { samplesOf } from './samples.js'

const folder = join(__dirname, '../../docs/monitoring')
const promtool = findProgram('promtool')
const prometheus = findProgram('prometheus')
const file = (name: string) => readFileSync(join(folder, name), 'utf8')
const check = (...args: string[]) => execFileSync(promtool!, args, { cwd: folder, encoding: 'utf8' })

interface Dashboard {
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}
const dashboard: Dashboard = JSON.parse(file('dashboard.json'))
const queries = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })))

it('the alerts and the dashboard use only metrics that exist, and the page names all of them', async () => {
  const text = await prometheusMetrics().text()
  const existing = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)
  const used = [file('alerts.yml'), ...queries.map(({ expr }) => expr)].flatMap(
    (source) => source.match(/\bcountersign_\w+/g) ?? [],
  )
  const families = new Set(used.map((name) => name.replace(/_(bucket|sum|count)$/, '')))
  expect([...families].filter((name) => !existing.includes(name))).toEqual([])
  const page = readFileSync(join(folder, '../metrics.md'), 'utf8')
  expect(existing.filter((name) => !page.includes(`\`${name}`))).toEqual([])
})

it('each alert has a section that says what to do, and its runbook names the section', () => {
  const page = readFileSync(join(folder, '../operating.md'), 'utf8')
  const sections = [...page.matchAll(/^### `(\w+)`\n\n\S/gm)].map(([, name]) => name!)
  const rules = file('alerts.yml').split('- alert: ').slice(1)
  const named = rules.map((rule) => ({
    alert: /^\w+/.exec(rule)![0],
    runbook: /^ +runbook: (.*)$/m.exec(rule)?.[1],
  }))
  expect(named).toEqual(
    sections.map((alert) => ({ alert, runbook: `docs/operating.md#${alert.toLowerCase()}` })),
  )
})

itWhere(promtool !== undefined, 'promtool')('the alert rules pass promtool check and test', async () => {
  expect(readdirSync(folder).sort()).toEqual(['alerts.test.yml', 'alerts.yml', 'dashboard.json'])
  expect(check('check', 'rules', 'alerts.yml')).toContain('SUCCESS: 11 rules found')
  expect(check('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS')
})

itWhere(promtool !== undefined, 'promtool')(
  'the alert fires when the first two callbacks of a process fail, and not for one',
  async () => {
    const { receiver, send, outcomes } = await runReceiver({
      handler: () => {
        throw new Error('the ledger did not answer')
      },
    })
    const metrics = prometheusMetrics()
    metrics.observe(receiver)
    const scrapes: Scrape[] = [samplesOf(await metrics.text())]
    for (let failures = 0; failures < 2; failures++) {
      expect(await send(genuine())).toMatchObject({ status: 500 })
      await until(() => outcomes.length > failures)
      scrapes.push(samplesOf(await metrics.text()))
    }
    const [none, one, two] = scrapes as [Scrape, Scrape, Scrape]
    const test = {
      rule_files: [join(folder, 'alerts.yml')],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          // One scrape a minute, and the second failure after ten minutes.
          input_series: seriesOf([
            none,
            none,
            ...Array<Scrape>(10).fill(one),
            ...Array<Scrape>(10).fill(two),
          ]),
          promql_expr_test: [
            [11, []],
            [20, [{ labels: '{}', value: 1 }]],
          ].map(([minute, exp_samples]) => ({
            expr: 'count(ALERTS{alertname="CountersignUnavailable"})',
            eval_time: `${minute as number}m`,
            exp_samples,
          })),
        },
      ],
    }
    const written = join(temporaryFolder(), 'test.yml')
    writeFileSync(written, JSON.stringify(test))
    expect(check('test', 'rules', written)).toContain('SUCCESS')
  },
)

type Scrape = ReadonlyMap<string, number>

/** The series of a test of promtool for what one process was scraped. */
function seriesOf(scrapes: readonly Scrape[]) {
  const names = [...new Set(scrapes.flatMap((scrape) => [...scrape.keys()]))]
  return names.map((series) => ({
    series,
    values: scrapes.map((scrape) => scrape.get(series) ?? '_').join(' '),
  }))
}

itWhere(prometheus !== undefined, 'prometheus')(
  'every query of the dashboard has a result in a Prometheus that scrapes a receiver',
  async () => {
    const metrics = prometheusMetrics()
    const { receiver, send, becomes } = await runInboxReceiver({
      inbox: new SqliteInbox({ file: inboxFile() }),
      in: 'the standalone server',
      handler: ({ payload }) => {
        if (payload.Id === 'dead') throw new DoNotRetryError('no such account')
      },
    })
    metrics.observe(receiver)
    const scraped = createServer((_request, response) => {
      // A rate needs a counter that has grown between two scrapes.
      const sent = [
        genuine(),
        genuine({ payload: { Id: 'dead' } }),
        genuine({ headers: { Authorization: FORGED } }),
      ]
      void Promise.all(sent.map((each) => send(each)))
        .then(() => metrics.text())
        .then((text) => response.writeHead(200, { 'Content-Type': metrics.contentType }).end(text))
    })
    await new Promise<void>((resolve) => scraped.listen(0, '127.0.0.1', resolve))
    await send(genuine())
    await becomes('1', 'handled')
    const cwd = temporaryFolder()
    const target = `127.0.0.1:${(scraped.address() as AddressInfo).port}`
    const config = {
      global: { scrape_interval: '200ms', evaluation_interval: '200ms' },
      rule_files: [join(folder, 'alerts.yml')],
      scrape_configs: [{ job_name: 'countersign', static_configs: [{ targets: [target] }] }],
    }
    writeFileSync(join(cwd, 'prometheus.yml'), JSON.stringify(config))
    const port = await freePort()
    const args = [
      '--config.file=prometheus.yml',
      '--storage.tsdb.path=data',
      `--web.listen-address=127.0.0.1:${port}`,
    ]
    const server = new ServerProcess(prometheus!, args, { cwd })
    const query = async <Data>(path: string): Promise<{ data?: Data }> => {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)
      return (await response.json()) as { data?: Data }
    }
    const empty = async () => {
      const without = []
      for (const { title, expr } of queries) {
        const instant = expr.replaceAll('$__rate_interval', '10s')
        const { data } = await query<{ result: unknown[] }>(`query?query=${encodeURIComponent(instant)}`)
        if (!data?.result?.length) without.push(title)
      }
      return without
    }
    let without: string[] = []
    try {
      await server.ready(async () => (without = await empty()).length === 0, 30_000).catch(() => undefined)
      expect(without).toEqual([])
      const { data } = await query<{ groups: { rules: { health: string }[] }[] }>('rules')
      const health = data!.groups.flatMap(({ rules }) => rules.map((rule) => rule.health))
      expect(new Set(health)).toEqual(new Set(['ok']))
    } finally {
      await server.stop('SIGTERM')
      scraped.closeAllConnections()
      scraped.close()
    }
  },
  60_000,
)
