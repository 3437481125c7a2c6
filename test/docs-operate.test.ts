// Checks the alert rules of docs/operate.md against the metrics of a running gateway.
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { startChat } from './doubles/chat.ts'
import { startModel } from './doubles/model.ts'
import { examples } from './docs-examples.ts'
import { gatewayToken, startGateway, temporaryFolder } from './helpers.ts'
import { evaluate, type Series } from './promql.ts'

interface Rules {
  groups: { name: string; rules: { alert: string; expr: string; for?: string }[] }[]
}

const text = examples.find(({ page, text }) => page === 'docs/operate.md' && text.includes('alert:'))!.text
const rules = (parse(text) as Rules).groups.flatMap((group) => group.rules)

it('has alert rules with names of their own and durations', () => {
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  expect(rules.filter((rule) => rule.for !== undefined && !/^\d+[smh]$/.test(rule.for))).toEqual([])
})

it('names metrics, labels and values that GET /metrics has', async () => {
  const { url, post } = await startGateway()
  await post('/hooks/agent', { message: 'hi', wakeMode: 'next-heartbeat' }, { prefer: 'wait=30' })
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${gatewayToken}` } })
  const metrics = await response.text()
  const used = rules.flatMap(({ expr }) => expr.match(/\bsvc_gateway_\w+/g) ?? [])
  expect(used.length).toBeGreaterThan(8)
  // A histogram is announced without the ending of its series.
  const announced = used.map((name) => `# HELP ${name.replace(/_bucket$/, '')} `)
  expect(announced.filter((line) => !metrics.includes(line))).toEqual([])
  expect(metrics).toContain('svc_gateway_runs{status="queued"}')
  expect(metrics).toContain('svc_gateway_channel_connected{channel="console",account="default"}')
})

it('names every action of the audit log', () => {
  const page = readFileSync('docs/operate.md', 'utf8')
  const [, section = ''] = page.split('## Audit log')
  const named = new Set(Array.from(section.matchAll(/`([a-z]+\.[a-z_]+)`/g), ([, action]) => action))
  const actions = globSync('core/**/*.ts').flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => /\b(?:action:|change\(|audited?\()/.test(line))
      .flatMap((line) => Array.from(line.matchAll(/'([a-z]+\.[a-z_]+)'/g), ([, action]) => String(action))),
  )
  expect(new Set(actions).size).toBeGreaterThan(20)
  expect([...new Set(actions)].filter((action) => !named.has(action))).toEqual([])
})

/** The minute in which everything happens, and the one after it in which the rules are evaluated. */
const [happensAt, evaluatedAt] = [20, 22]

/** A gateway in which everything that a counting rule is about happens for the first time, between two scrapes. */
async function scrapeFirstEvents(): Promise<Series[]> {
  const [model, chat, dir] = [await startModel(), await startChat(), temporaryFolder()]
  const { url, post } = await startGateway(
    {
      ...chat.config(dir, { 'chat-native': { enabled: true } }),
      providers: model.providers,
      agents: {
        defaults: {
          heartbeat: { every: 0 },
          models: [{ id: 'double/m', price: { input: 1e5, output: 1e5 } }, 'double/unpriced'],
        },
      },
    },
    dir,
  )
  const scrape = async (): Promise<Map<string, Omit<Series, 'values'> & { value: number }>> => {
    const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${gatewayToken}` } })
    const rows = (await response.text()).split('\n').filter((row) => row !== '' && !row.startsWith('#'))
    return new Map(
      rows.map((row) => {
        const [id, value] = [row.slice(0, row.lastIndexOf(' ')), Number(row.slice(row.lastIndexOf(' ')))]
        const labels = Object.fromEntries(
          Array.from(id.matchAll(/(\w+)="([^"]*)"/g), ([, name = '', text = '']) => [name, text]),
        )
        return [id, { name: id.split('{', 1)[0] ?? '', labels, value }]
      }),
    )
  }
  const ask = (name: string, more: object = {}) =>
    post(
      '/hooks/agent',
      { message: 'hi', model: `double/${name}`, deliver: false, wakeMode: 'next-heartbeat', ...more },
      { prefer: 'wait=30' },
    )
  const before = await scrape()
  for (let run = 0; run < 6; run++) {
    model.script({ status: 400, body: { error: { message: 'no' } } })
    await ask('m')
  }
  model.otherwise({ text: 'Done.' })
  chat.script({ answer: { outcome: 'failed', reason: 'permanent', detail: 'no' } })
  await ask('m', { deliver: true, channel: 'chat-native', to: 'ann' })
  for (const name of ['m', 'm', 'unpriced']) await ask(name)
  await expect
    .poll(async () => (await scrape()).get('svc_gateway_delivery_attempts_total{status="failed"}')?.value)
    .toBe(1)
  const after = await scrape()
  return Array.from(after, ([id, { name, labels, value }]) => ({
    name,
    labels,
    values: Array.from({ length: evaluatedAt + 1 }, (_, minute) =>
      minute < happensAt ? before.get(id)?.value : value,
    ),
  }))
}

it('raises each alert that counts at the first event, and none before it', async () => {
  const series = await scrapeFirstEvents()
  const counting = rules.filter(({ expr }) => expr.includes('increase('))
  const raised = (at: number) =>
    counting.filter(({ expr }) => evaluate(expr, series, at).length > 0).map(({ alert }) => alert)
  const all = ['GatewayRunsFail', 'GatewayModelsAreExpensive', 'GatewayModelHasNoPrice', 'GatewayDeliveriesFail']
  expect(raised(happensAt - 1)).toEqual([])
  expect(raised(evaluatedAt)).toEqual(all)
  if (spawnSync('promtool', ['--version']).status !== 0) return
  const dir = temporaryFolder()
  writeFileSync(join(dir, 'rules.yaml'), text)
  const shown = ({ name, labels, values }: Series) => ({
    series: `${name}{${Object.entries(labels)
      .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
      .join(',')}}`,
    values: values.map((value) => value ?? '_').join(' '),
  })
  const inAlerts = (at: number, isRaised: boolean) => ({
    expr: 'count(ALERTS{alertname=~"' + all.join('|') + '"}) or vector(0)',
    eval_time: `${at}m`,
    exp_samples: [{ labels: '{}', value: isRaised ? all.length : 0 }],
  })
  const test = {
    interval: '1m',
    input_series: series.map(shown),
    promql_expr_test: [inAlerts(happensAt - 1, false), inAlerts(evaluatedAt, true)],
  }
  // JSON is YAML.
  writeFileSync(
    join(dir, 'test.yaml'),
    JSON.stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests: [test] }),
  )
  const { stdout, stderr, status } = spawnSync('promtool', ['test', 'rules', 'test.yaml'], {
    cwd: dir,
    encoding: 'utf8',
  })
  expect({ status, output: stdout + stderr }).toMatchObject({ status: 0 })
})
