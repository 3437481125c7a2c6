// GET /metrics: what Prometheus reads, in its text format, with few labels and no secret.
import { describe, expect, it } from 'vitest'
import { gatewayToken, hookToken, startGateway } from '../helpers.ts'

const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const line = /^(# (HELP [a-z_]+ \S.*|TYPE [a-z_]+ (counter|gauge|histogram))|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)$/

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
  it('counts requests, deliveries, runs and commits, and tells how things stand', async () => {
    const { url, post, get } = await startGateway({ agents: { defaults: { heartbeat: { every: 0 } } } })
    await post('/hooks/agent', { message: 'hi', ...quiet }, { prefer: 'wait=30' })
    await post('/hooks/wake', {})
    await post('/hooks/wake', { text: 'hi' }, { authorization: 'Bearer wrong' })
    await get('/nowhere')
    await expect.poll(async () => valueOf(await scrape(url), 'svc_gateway_deliveries_total{status="rejected"}')).toBe(1)
    const text = await scrape(url)
    const counts = {
      'svc_gateway_http_requests_total{door="hooks",status="200"}': 1,
      'svc_gateway_http_requests_total{door="hooks",status="400"}': 1,
      'svc_gateway_http_requests_total{door="hooks",status="401"}': 1,
      'svc_gateway_http_requests_total{door="none",status="404"}': 1,
      'svc_gateway_deliveries_total{status="accepted"}': 1,
      'svc_gateway_runs{status="queued"}': 0,
      'svc_gateway_runs_ended_total{status="succeeded"}': 1,
      'svc_gateway_messages{status="pending"}': 0,
      svc_gateway_accept_seconds_count: 1,
      'svc_gateway_accept_seconds_bucket{le="+Inf"}': 1,
    }
    expect(Object.fromEntries(Object.keys(counts).map((name) => [name, valueOf(text, name)]))).toEqual(counts)
    expect(valueOf(text, 'svc_gateway_store_commit_operations_count')).toBeGreaterThan(3)
    expect(valueOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(1e6)
  })

  it('keeps to the text format, each family once, and holds no secret', async () => {
    const { url } = await startGateway()
    const text = await scrape(url)
    expect(text.endsWith('\n')).toBe(true)
    const rows = text.trimEnd().split('\n')
    expect(rows.filter((row) => !line.test(row))).toEqual([])
    const types = rows.filter((row) => row.startsWith('# TYPE'))
    expect(new Set(types).size).toBe(types.length)
    for (const secret of [gatewayToken, hookToken]) expect(text).not.toContain(secret)
  })

  it('wants the credential', async () => {
    const { url } = await startGateway()
    expect((await fetch(`${url}/metrics`)).status).toBe(401)
  })

  it('has no label that callers choose', async () => {
    const { url, post, get } = await startGateway()
    await post('/hooks/chosen-by-the-caller', {})
    await get('/chosen-by-the-caller')
    expect(await scrape(url)).not.toContain('chosen-by-the-caller')
  })
})
