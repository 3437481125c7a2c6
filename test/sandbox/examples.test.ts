// The example transforms in `transforms/`, and the first example of docs/transforms.md.
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { transformContract } from '../contracts.ts'
import { startGateway, temporaryFolder } from '../helpers.ts'
import { callWith, run, startSandbox } from './start-sandbox.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const transform = (name: string): string => join(root, 'transforms', name)

const alert = (status: string, alertname: string, more: object = {}) => ({
  status,
  labels: { alertname, severity: 'critical' },
  annotations: { summary: `${alertname} is bad` },
  ...more,
})

transformContract(transform('grafana-alert.ts'), {
  accepted: [
    {
      what: 'firing alerts and a resolved one',
      payload: {
        status: 'firing',
        title: '[FIRING:2]',
        groupKey: 'g1',
        orgId: 1,
        alerts: [
          alert('firing', 'DiskFull', { generatorURL: 'https://grafana.example/1' }),
          alert('resolved', 'Load'),
          { status: 'firing', labels: {} },
        ],
      },
      result: {
        name: 'Grafana',
        message: [
          '[FIRING:2]',
          '- DiskFull (critical): DiskFull is bad https://grafana.example/1',
          '- alert (no severity): no summary',
          '',
          'Find out what is wrong and say what to do first.',
        ].join('\n'),
        idempotencyKey: 'g1:DiskFull,',
      },
    },
    {
      what: 'a long list, which is shortened',
      payload: {
        status: 'firing',
        groupKey: 'g',
        alerts: Array.from({ length: 30 }, (_, index) => alert('firing', `A${index}`)),
      },
      result: {
        name: 'Grafana',
        message: expect.stringMatching(/^30 alerts are firing\n(- A\d+ .*\n){20}… and 10 more\n\nFind out/),
        idempotencyKey: expect.stringContaining('A29'),
      },
    },
  ],
  skipped: [
    {
      what: 'resolved alerts',
      payload: { status: 'resolved', groupKey: 'g', alerts: [alert('resolved', 'Load')] },
    },
  ],
  refused: [{ what: 'a payload without alerts', payload: { status: 'firing', groupKey: 'g' } }],
})

transformContract(transform('order-lines.ts'), {
  accepted: [
    {
      what: 'an order with articles that are out of stock',
      payload: {
        order: 'A-17',
        currency: 'EUR',
        total: 59.9,
        lines: [
          { sku: 'CUP-1', title: 'Cup', quantity: 5, stock: 2 },
          { sku: 'TEA', title: 'Tea', quantity: 1, stock: 9 },
          { sku: 'POT', title: 'Pot', quantity: 1, stock: -3 },
        ],
      },
      result: [
        { action: 'wake', text: 'Order A-17 of 59.90 EUR, articles: 3', wakeMode: 'next-heartbeat' },
        {
          name: 'Stock of CUP-1',
          message: 'Order A-17 needs 5 of "Cup" (CUP-1), and 2 are in stock. Write the reorder for the supplier.',
          sessionKey: 'hook:stock:cup-1',
        },
        {
          name: 'Stock of POT',
          message: 'Order A-17 needs 1 of "Pot" (POT), and 0 are in stock. Write the reorder for the supplier.',
          sessionKey: 'hook:stock:pot',
        },
      ],
    },
  ],
  refused: [{ what: 'an order without lines', payload: { order: 'A-17', currency: 'EUR', total: 0, lines: [] } }],
})

transformContract(transform('form-to-agent.js'), {
  accepted: [
    {
      what: 'a question about pricing',
      payload: { name: '<b>Ann</b>', email: 'ann@example.com', topic: 'Pricing', message: ' How\n much? ' },
      now: '2026-03-01T12:00:00.000Z',
      result: {
        name: 'Contact form: pricing',
        agentId: 'sales',
        message: 'Ann <ann@example.com> wrote on 2026-03-01:\n\nHow much?\n\nDraft a reply.',
      },
    },
    {
      what: 'a message alone',
      payload: { message: 'Hello' },
      result: { name: 'Contact form: other', message: expect.stringContaining('Somebody <no address>') },
    },
  ],
  skipped: ['Best CASINO in town', '  ', '<br>'].map((message) => ({
    what: `the message ${JSON.stringify(message)}`,
    payload: { message },
  })),
})

describe('the examples over HTTP', () => {
  const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
  const mappings = [
    { match: { path: 'grafana-alert' }, ...quiet, transform: { module: 'grafana-alert.ts' } },
    { match: { path: 'order-lines' }, ...quiet, transform: { module: 'order-lines.ts' } },
    { match: { path: 'form-to-agent' }, ...quiet, transform: { module: 'form-to-agent.js' } },
  ]

  it('are accepted by a hook that has only a path and a module', async () => {
    const folder = temporaryFolder()
    cpSync(join(root, 'transforms'), join(folder, 'transforms'), { recursive: true })
    const agents = { defaults: { heartbeat: { every: 0 } }, main: {}, sales: {} }
    const { post, get } = await startGateway({ agents, hooks: { mappings } }, folder)
    const runOf = async (id: string) => (await get(`/runs/${id}`)).body

    const lines = [
      { sku: 'CUP-1', title: 'Cup', quantity: 5, stock: 2 },
      { sku: 'TEA', title: 'Tea', quantity: 1, stock: 9 },
    ]
    const order = await post('/hooks/order-lines', { order: 'A-17', currency: 'EUR', total: 59.9, lines })
    expect(order).toMatchObject({
      status: 200,
      body: { ok: true, runIds: [expect.any(String)], eventIds: [expect.any(String)] },
    })
    expect(await runOf(order.body.runIds[0])).toMatchObject({
      name: 'Stock of CUP-1',
      sessionKey: 'agent:main:hook:stock:cup-1',
    })

    const alerts = [{ status: 'firing', labels: { alertname: 'DiskFull' } }]
    const alert = await post('/hooks/grafana-alert', { status: 'firing', groupKey: 'g1', alerts })
    expect(alert).toMatchObject({ status: 200, body: { runId: expect.any(String) } })
    expect(
      (await post('/hooks/grafana-alert', { status: 'firing', groupKey: 'g1', alerts, title: 'again' })).body,
    ).toEqual(alert.body)
    expect((await post('/hooks/grafana-alert', { status: 'resolved', groupKey: 'g1', alerts: [] })).body).toEqual({
      ok: true,
      skipped: true,
    })

    const form = await post('/hooks/form-to-agent', 'name=Ann&topic=pricing&message=How+much%3F', {
      'content-type': 'application/x-www-form-urlencoded',
    })
    expect(form).toMatchObject({ status: 200, body: { runId: expect.any(String) } })
    expect(await runOf(form.body.runId)).toMatchObject({ agentId: 'sales', name: 'Contact form: pricing' })
  })
})

describe('docs/transforms.md', () => {
  const page = readFileSync(join(root, 'docs', 'transforms.md'), 'utf8')
  const [, code = '', name = ''] = /```ts\n(\/\/ ([\w-]+)\.ts: [\s\S]*?)```/.exec(page) ?? []

  it('has a first example with the result that the page shows', async () => {
    const { sandbox } = startSandbox({ [`${name}.ts`]: code })
    const [, payload = ''] = /echo '(.*)' \|/.exec(page) ?? []
    const [, expected = ''] = /\n(\{\n {2}"name"[\s\S]*?\n\})\n/.exec(page) ?? []
    const first = sandbox.load(`${name}.ts`, { timeoutMs: 10_000 })
    expect((await first.run({ ...callWith(null), payload })).result).toEqual(JSON.parse(expected))
    expect((await run(first, { host: 'db1', disk: '/var', usedPercent: 12 })).result).toBeNull()
  })
})
