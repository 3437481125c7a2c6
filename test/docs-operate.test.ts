// Checks the alert rules of docs/operate.md against the metrics of a running gateway.
import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { examples } from './docs-examples.ts'
import { gatewayToken, startGateway } from './helpers.ts'

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
