// Integers beyond 2^53 keep their digits on every way through the gateway.
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startModel } from './doubles/model.ts'
import { gatewayToken, hookToken, type RunningGateway, startGateway, temporaryFolder } from './helpers.ts'
import { share } from './share.ts'

// A number of JavaScript would be 9007199254740992.
const id = '9007199254740993'
const other = '9007199254740992'
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }

const transform = `
import { Type } from 'svc-gateway/transform'
export const payload = Type.Object({ id: Type.Integer() })
export default ({ payload }) => ({
  message: [\`id \${payload.id}\`, JSON.stringify(payload), JSON.stringify(payload, ['id']), payload.id > 5].join(' '),
  sessionKey: 'hook:made:' + payload.id,
  idempotencyKey: String(payload.id),
})`

const plugin = `
import { defineTool, defineToolset, definePreset, Type } from 'svc-gateway/plugin'
const args = Type.Object({ id: Type.Integer({ minimum: 1 }), note: Type.Optional(Type.String()) })
export default [
  defineToolset({ name: 'orders', description: 'Orders.', tools: [
    defineTool({
      name: 'order', description: 'Reads an order.', args, effects: [], changes: 'nothing',
      execute: (given) => ({ id: given.id, next: BigInt(given.id) + 1n, text: \`order \${given.id}\`, sent: JSON.stringify(given) }),
    }),
  ] }),
  definePreset({
    name: 'shop', description: 'A shop.', mapping: {},
    payload: Type.Object({ id: Type.Integer(), ref: Type.Optional(Type.String()) }),
    toAction: ({ payload }) => ({ message: \`order \${payload.id} \${payload.ref}\`, sessionKey: \`hook:shop:\${payload.id}\` }),
    deliveryId: ({ payload }) => String(payload.id),
  }),
]`

const mapping = (path: string, rest: object) => ({ id: path, match: { path }, ...quiet, ...rest })

const gateway = share(async () => {
  const dir = temporaryFolder()
  mkdirSync(join(dir, 'transforms'))
  writeFileSync(join(dir, 'transforms', 'made.js'), transform)
  writeFileSync(join(dir, 'orders.mjs'), plugin)
  const model = await startModel()
  model.otherwise({ text: 'done' })
  const all =
    '{{ id }} {{ payload }} {{ payload | json }} {{ id | number }} {{ list | join }} {{ list | each: "{item}" }}'
  const running = await startGateway(
    {
      plugins: ['./orders.mjs'],
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      tools: { byOrigin: { hook: { allow: ['order'] } } },
      hooks: {
        presets: ['shop'],
        shop: quiet,
        mappings: [
          mapping('once', { idempotencyKey: '{{ id }}', sessionKey: 'hook:once:{{ id }}', messageTemplate: 'x' }),
          mapping('shown', { messageTemplate: all }),
          mapping('each', { forEach: 'ids', messageTemplate: '{{ item.id }}' }),
          mapping('called', { messageTemplate: 'call it', sessionKey: 'hook:called' }),
          mapping('form', { jsonFields: ['data'], messageTemplate: '{{ data.id }}' }),
          mapping('made', { transform: { module: 'made.js' } }),
          {
            ...mapping('if', { messageTemplate: 'matched' }),
            match: { path: 'if', payload: { id, list: { contains: id } } },
          },
          mapping('if', { id: 'else', messageTemplate: 'not matched' }),
        ],
      },
    },
    dir,
  )
  return { ...running, model }
})

/** As text: the parser of the test would round. */
async function send(path: string, body: string, headers: Record<string, string> = {}) {
  const { url } = gateway()
  const token = /^\/(?:hooks)/.test(path) ? hookToken : gatewayToken
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${token}`, ...headers },
  })
  return { status: response.status, text: await response.text() }
}

/** The answer to a message on the WebSocket, after the one to the credential. */
async function askSocket(message: string): Promise<string> {
  const socket = new WebSocket(`${gateway().url.replace('http', 'ws')}/ws`)
  const next = async () => ((await once(socket, 'message')) as [{ data: string }])[0].data
  await once(socket, 'open')
  socket.send(`{"jsonrpc":"2.0","id":1,"method":"auth","params":{"token":"${gatewayToken}"}}`)
  await next()
  socket.send(message)
  return await next().finally(() => socket.close())
}

const dryRun = async ({ get }: RunningGateway, body?: string): Promise<string> => {
  const request = (await get('/api/requests?limit=1')).body.items[0].id as string
  const { text } = await send(`/api/requests/${request}/replay`, `{"dryRun":true${body ? `,"body":${body}` : ''}}`)
  return (JSON.parse(text) as { actions: { message: string }[] }).actions.map(({ message }) => message).join('\n')
}

async function messageOf(path: string, body: string, headers?: Record<string, string>): Promise<string> {
  const { status, text } = await send(path, body, headers)
  return status === 200 ? await dryRun(gateway()) : text
}

describe('an integer beyond 2^53', () => {
  it.each(['once', 'made', 'shop'])('identifies its own request and session: %s', async (hook) => {
    const [first, second] = [
      await send(`/hooks/${hook}`, `{"id":${id}}`),
      await send(`/hooks/${hook}`, `{"id":${other}}`),
    ]
    const [a, b] = [first, second].map(({ text }) => JSON.parse(text) as { runId: string; sessionKey: string })
    expect(a!.sessionKey).toBe(`agent:main:hook:${hook}:${id}`)
    expect(b!.sessionKey).toBe(`agent:main:hook:${hook}:${other}`)
    expect(a!.runId).not.toBe(b!.runId)
  })

  it('keeps its digits in templates, filters, forms, transforms, presets and replays', async () => {
    const list = `{"id":-${id},"list":[${id},{"id":${id}}]}`
    expect(await messageOf('/hooks/shown', list)).toBe(
      `-${id} ${list} ${list} -9,007,199,254,740,993 ${id}, {"id":${id}} ${id}\n{"id":${id}}`,
    )
    expect(await messageOf('/hooks/each', `{"ids":[{"id":${id}},{"id":${other}}]}`)).toBe(`${id}\n${other}`)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    expect(await messageOf('/hooks/form', `data=%7B%22id%22%3A${id}%7D`, form)).toBe(id)
    const made = `{"id":${id},"more":[${other}]}`
    const inTransform = (body: string) => `id ${id} ${body} {"id":${id}} true`
    expect(await messageOf('/hooks/made', made)).toBe(inTransform(made))
    expect(await dryRun(gateway(), `{"id":${id}}`)).toBe(inTransform(`{"id":${id}}`))
    expect(await messageOf('/hooks/shop', `{"id":${id}1,"ref":${id}}`)).toBe(`order ${id}1 ${id}`)
  })

  it('is the text of its digits in conditions', async () => {
    expect(await messageOf('/hooks/if', `{"id":${id},"list":[${id}]}`)).toBe('matched')
    expect(await messageOf('/hooks/if', `{"id":${other},"list":[${id}]}`)).toBe('not matched')
    expect(await messageOf('/hooks/if', `{"id":${id},"list":[${other}]}`)).toBe('not matched')
  })

  const result = (args: string) =>
    `{"id":${id},"next":9007199254740994,"text":"order ${id}","sent":${JSON.stringify(args)}}`

  it('reaches a tool and comes back over HTTP, the WebSocket and MCP', async () => {
    const args = `{"id":${id}}`
    expect((await send('/tools/invoke', `{"tool":"order","args":${args}}`)).text).toBe(
      `{"ok":true,"result":${result(args)}}`,
    )
    expect((await send('/tools/invoke', `{"tool":"order","args":{"id":-${id}}}`)).status).toBe(400)
    const call = `{"jsonrpc":"2.0","id":${id},"method":"tools.invoke","params":{"tool":"order","args":${args}}}`
    expect(await askSocket(call)).toBe(`{"jsonrpc":"2.0","id":${id},"result":{"ok":true,"result":${result(args)}}}`)
    const mcp = await send(
      '/mcp',
      `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"order","arguments":${args}}}`,
      { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    )
    expect(mcp.text).toContain(`"structuredContent":${result(args)}`)
  })

  it('is what the model wrote in the call, the record, the transcript and the next prompt', async () => {
    const { model, url } = gateway()
    const args = `{"id":${id}}`
    const ask = async () => {
      const { text } = await send('/hooks/called', '{}', { prefer: 'wait=20' })
      return JSON.parse(text) as { runId: string; sessionKey: string; reply: string }
    }
    const promptsOf = (word: string) =>
      model.requests.map(({ body }) => JSON.stringify(body)).filter((body) => body.includes(word))
    model.otherwise(({ body }) => {
      const text = JSON.stringify(body)
      return text.includes('call it') && !text.includes('order 9') ? { tool: 'order', rawArgs: args } : { text: 'done' }
    })
    const run = await ask()
    expect(run.reply).toBe('done')
    await ask()
    const [, second = '', third = ''] = promptsOf('call it')
    for (const sent of [second, third]) {
      expect(sent).toContain(JSON.stringify(args).slice(1, -1))
      expect(sent).toContain(JSON.stringify(result(args)).slice(1, -1))
    }
    const read = async (path: string) =>
      await (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${gatewayToken}` } })).text()
    const steps = await read(`/runs/${run.runId}/steps`)
    expect(steps).toContain(`"args":${args}`)
    expect(steps).toContain(`"result":${result(args)}`)
    const transcript = await read(`/api/sessions/${encodeURIComponent(run.sessionKey)}`)
    expect(transcript).toContain(id)
    expect(transcript).not.toContain(other)
  })
})
