// Tests GET /metrics: the Prometheus text format, few label values, and no secrets.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createBoundedValues, family } from '../../core/control/metrics/registry.ts'
import { startModel } from '../doubles/model.ts'
import { gatewayToken, hookToken, startGateway, writeConfig } from '../helpers.ts'

const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const comment = /# (HELP [a-z_0-9]+ \S.*|TYPE [a-z_0-9]+ (counter|gauge|histogram))/.source
const label = /[a-z_]+="([^"\\]|\\.)*"/.source
const line = new RegExp(String.raw`^(${comment}|[a-z_0-9]+(\{${label}(,${label})*\})? [0-9.e+-]+)$`)

async function scrape(url: string): Promise<string> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${gatewayToken}` } })
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  return await response.text()
}

const valueOf = (text: string, name: string): number =>
  Number(
    text
      .split('\n')
      .find((row) => row.startsWith(`${name} `))
      ?.slice(name.length + 1),
  )

describe('GET /metrics', () => {
  it('counts HTTP requests, webhook requests, runs and commits, and reports the current state', async () => {
    const { url, post, get } = await startGateway({ agents: { defaults: { heartbeat: { every: 0 } } } })
    await post('/hooks/agent', { message: 'hi', ...quiet }, { prefer: 'wait=30' })
    await post('/hooks/wake', {})
    await post('/hooks/wake', { text: 'hi' }, { authorization: 'Bearer wrong' })
    await get('/nowhere')
    await expect
      .poll(async () => valueOf(await scrape(url), 'svc_gateway_webhook_requests_total{status="rejected"}'))
      .toBe(1)
    const text = await scrape(url)
    const counts = {
      'svc_gateway_http_requests_total{route_group="hooks",status="200"}': 1,
      'svc_gateway_http_requests_total{route_group="hooks",status="400"}': 1,
      'svc_gateway_http_requests_total{route_group="hooks",status="401"}': 1,
      'svc_gateway_http_requests_total{route_group="none",status="404"}': 1,
      'svc_gateway_webhook_requests_total{status="accepted"}': 1,
      'svc_gateway_runs{status="queued"}': 0,
      'svc_gateway_runs_accepted_total{kind="hook"}': 1,
      'svc_gateway_runs_ended_total{kind="hook",status="succeeded"}': 1,
      'svc_gateway_run_seconds_count{agent="main",model="builtin/rules"}': 1,
      'svc_gateway_deliveries{status="pending"}': 0,
      svc_gateway_accept_seconds_count: 1,
      'svc_gateway_accept_seconds_bucket{le="+Inf"}': 1,
    }
    expect(Object.fromEntries(Object.keys(counts).map((name) => [name, valueOf(text, name)]))).toEqual(counts)
    expect(valueOf(text, 'svc_gateway_store_commit_operations_count')).toBeGreaterThan(3)
    expect(valueOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(1e6)
  })

  it('follows the text format and its rules, and contains no secret', async () => {
    const { url, post } = await startGateway({ agents: { defaults: { heartbeat: { every: 0 } } } })
    await post('/hooks/agent', { message: 'hi', ...quiet }, { prefer: 'wait=30' })
    const text = await scrape(url)
    expect(text.endsWith('\n')).toBe(true)
    expect(
      text
        .trimEnd()
        .split('\n')
        .filter((row) => !line.test(row)),
    ).toEqual([])
    expect(problemsOf(text)).toEqual([])
    for (const secret of [gatewayToken, hookToken]) expect(text).not.toContain(secret)
  })

  it.each([
    ['# HELP a_b x\n# TYPE a_b gauge\na_b{quantile="0.5"} 1\n', 'a_b: quantile'],
    ['# HELP a_b x\n# TYPE a_b gauge\na_b{le="1"} 1\n', 'a_b: le'],
    ['# HELP a_b x\n# TYPE a_b counter\na_b 1\n', 'a_b: a counter ends in _total'],
    ['# HELP a_total x\n# TYPE a_total gauge\na_total 1\n', 'a_total: only a counter ends in _total'],
    ['# HELP a x\n# TYPE a gauge\na 1\na 1\n', 'a: repeated'],
    ['# HELP a x\n# TYPE a gauge\nb 1\n', 'b: not in its family'],
    ['# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n', 'a: buckets'],
  ])('the rules find the mistake in %j', (text, problem) => {
    expect(problemsOf(text)).toEqual([problem])
  })

  it('counts run failures and tokens by agent and model', async () => {
    const model = await startModel()
    model.script({ status: 400, body: { error: { message: 'no' } } })
    model.otherwise({ text: 'Noted.' })
    const { url, post } = await startGateway({
      providers: model.providers,
      agents: {
        defaults: {
          heartbeat: { every: 0 },
          model: 'double/m',
          models: [{ id: 'double/m', price: { input: 2, output: 10 } }],
        },
        ops: {},
      },
    })
    for (let n = 0; n < 2; n++)
      await post('/hooks/agent', { message: 'hi', agentId: 'ops', ...quiet }, { prefer: 'wait=30' })
    const text = await scrape(url)
    const about = 'agent="ops",model="double/m"'
    expect(valueOf(text, `svc_gateway_run_failures_total{${about},type="model_failed"}`)).toBe(1)
    expect(valueOf(text, `svc_gateway_run_seconds_count{${about}}`)).toBe(2)
    const ofHook = `${about},hook="agent"`
    expect(valueOf(text, `svc_gateway_model_tokens_total{${ofHook},type="output"}`)).toBe(20)
    expect(valueOf(text, `svc_gateway_model_cost_usd_total{${ofHook}}`)).toBeCloseTo((50 * 2 + 20 * 10) / 1e6, 9)
    expect(text).not.toContain('svc_gateway_model_unpriced_calls_total{')
    expect(valueOf(text, 'svc_gateway_runs_ended_total{kind="hook",status="failed"}')).toBe(1)
  })

  it('reports connected channels, schedules, and whether the last reload succeeded', async () => {
    const running = await startGateway()
    const { url, dir, gateway } = running
    await expect
      .poll(async () =>
        valueOf(await scrape(url), 'svc_gateway_channel_connected{channel="console",account="default"}'),
      )
      .toBe(1)
    const first = await scrape(url)
    expect(valueOf(first, 'svc_gateway_schedules')).toBe(0)
    expect(valueOf(first, 'svc_gateway_config_last_reload_successful')).toBe(1)
    writeConfig(dir, { gateway: { prot: 1 } })
    await expect(gateway.reload()).rejects.toThrow()
    const second = await scrape(url)
    expect(valueOf(second, 'svc_gateway_config_last_reload_successful')).toBe(0)
    expect(valueOf(second, 'svc_gateway_config_reloads_total{result="failure"}')).toBe(1)
    writeConfig(dir)
    await gateway.reload()
    const third = await scrape(url)
    expect(valueOf(third, 'svc_gateway_config_last_reload_successful')).toBe(1)
    const at = 'svc_gateway_config_last_reload_success_timestamp_seconds'
    expect(valueOf(third, at)).toBeGreaterThan(valueOf(first, at))
  })

  it('requires the credential', async () => {
    const { url } = await startGateway()
    expect((await fetch(`${url}/metrics`)).status).toBe(401)
  })

  it('has no label values that callers choose', async () => {
    const { url, post, get } = await startGateway()
    await post('/hooks/chosen-by-the-caller', {})
    await get('/chosen-by-the-caller')
    expect(await scrape(url)).not.toContain('chosen-by-the-caller')
  })
})

describe('labels', () => {
  it('are escaped for the text format', () => {
    const labels = { account: 'a"b\\c\nd', channel: 'x' }
    expect(family({ type: 'gauge', name: 'state', help: 'States.' }, [[labels, 1]]).at(-1)).toBe(
      'state{account="a\\"b\\\\c\\nd",channel="x"} 1',
    )
  })

  it('have a limited number of values', () => {
    const value = createBoundedValues(2)
    expect(['a', 'b', 'c', 'a', 'd'].map(value)).toEqual(['a', 'b', 'other', 'a', 'other'])
  })
})

describe('docs/grafana-dashboard.json', () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const { panels, templating, uid } = JSON.parse(read('docs/grafana-dashboard.json')) as Dashboard

  it('queries only metrics and labels that exist', async () => {
    const { url, post } = await startGateway({ agents: { defaults: { heartbeat: { every: 0 } } } })
    await post('/hooks/agent', { message: 'hi', ...quiet }, { prefer: 'wait=30' })
    const text = await scrape(url)
    const documented = read('docs/operate.md')
    const names = new Set(
      [...text.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name = '', type]) =>
        type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    )
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    expect(queries.length).toBeGreaterThan(10)
    for (const query of queries) {
      const asked = [...query.matchAll(/\b(?:svc_gateway|process)_[a-z_0-9]+/g)].map(([name]) => name)
      expect(asked.length).toBeGreaterThan(0)
      expect(asked.filter((name) => !names.has(name))).toEqual([])
      const by = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/))
      // A metric without values yet has its labels in the documentation alone.
      expect(by.filter((label) => !text.includes(`${label}="`) && !documented.includes(`\`${label}\``))).toEqual([])
    }
  })

  it('can be imported: it has a data source variable and no overlapping panels', () => {
    expect(uid).toBe('svc-gateway')
    expect(templating.list.map(({ name, type }) => [name, type])).toContainEqual(['datasource', 'datasource'])
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  })
})

interface Dashboard {
  uid: string
  templating: { list: { name: string; type: string }[] }
  panels: { id: number; gridPos: { x: number; y: number; w: number; h: number }; targets?: { expr: string }[] }[]
}

/** What `promtool check metrics` would find, in a few words. */
function problemsOf(text: string): string[] {
  const problems: string[] = []
  const seen = new Set<string>()
  let [family, type] = ['', '']
  let bucket = { of: '', value: 0 }
  for (const row of text.trimEnd().split('\n')) {
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(row) ?? []
    if (keyword === 'HELP') {
      family = name
      if (seen.has(name)) problems.push(`${name}: repeated`)
      seen.add(name)
    } else if (keyword === 'TYPE') {
      type = rest
      if (type === 'counter' && !name.endsWith('_total')) problems.push(`${name}: a counter ends in _total`)
      if (type !== 'counter' && name.endsWith('_total')) problems.push(`${name}: only a counter ends in _total`)
    } else checkSample(row)
  }
  return problems

  function checkSample(row: string): void {
    const [, name = '', label = '', value = ''] = /^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/.exec(row) ?? []
    const own = type === 'histogram' ? [`${family}_bucket`, `${family}_sum`, `${family}_count`] : [family]
    if (!own.includes(name)) return void problems.push(`${name}: not in its family`)
    if (seen.has(`${name}{${label}}`)) problems.push(`${name}: repeated`)
    seen.add(`${name}{${label}}`)
    if (/\bquantile=/.test(label)) problems.push(`${name}: quantile`)
    const isBucket = type === 'histogram' && name.endsWith('_bucket')
    if (!isBucket && /\ble=/.test(label)) problems.push(`${name}: le`)
    if (!isBucket) return
    const series = label.replace(/,?le="[^"]*"/, '')
    if (bucket.of === `${family}{${series}}` && Number(value) < bucket.value) problems.push(`${family}: buckets`)
    bucket = { of: `${family}{${series}}`, value: Number(value) }
  }
}
