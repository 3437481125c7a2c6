// Half a character, as JSON can spell it, becomes U+FFFD wherever text comes in: no record holds it, and no model
// server gets it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { login } from './control/rpc-client.ts'
import { startChat } from './doubles/chat.ts'
import { startModel } from './doubles/model.ts'
import { ask, type Document, gatewayToken, startGateway, temporaryFolder } from './helpers.ts'
import { wellFormed } from '../core/well-formed.ts'

const half = '\ud83d'
const halfJson = String.raw`\ud83d`
const mark = '\ufffd'

const isWell = (value: unknown): boolean => !/\\u[dD][89a-fA-F]/.test(JSON.stringify(value))

async function start(changes: Document = {}, files: Record<string, string> = {}) {
  const dir = temporaryFolder()
  mkdirSync(join(dir, 'transforms'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, 'transforms', name), text)
  const model = await startModel()
  model.otherwise({ text: 'Done.' })
  const agents = { defaults: { model: 'double/m', heartbeat: { every: 0 }, systemPrompt: `Be ${half}.` } }
  const running = await startGateway({ agents, providers: model.providers, ...changes }, dir)
  const sent = async (index = 0) => {
    const { body } = await model.request(index)
    expect(isWell(body)).toBe(true)
    return JSON.stringify(body)
  }
  const tool = (body: string) =>
    ask(`${running.url}/tools/invoke`, { method: 'POST', headers: { authorization: `Bearer ${gatewayToken}` }, body })
  return { model, sent, tool, ...running }
}

const wait = { prefer: 'wait=20' }

describe('half a character', () => {
  it('in a request or in the configuration is replaced before it is stored and sent to the model', async () => {
    const { post, get, sent } = await start()
    const { body } = await post(
      '/hooks/agent',
      `{"message":"one ${halfJson} two","name":"n${halfJson}","deliver":false}`,
      wait,
    )
    expect(await sent()).toContain(`one ${mark} two`)
    expect(await sent()).toContain(`Be ${mark}.`)
    expect((await get(`/runs/${body.runId}`)).body.name).toBe(`n${mark}`)
    expect((await get('/api/sessions/agent:main:main')).body.events[0].text).toContain(`n${mark}`)
  })

  it('in a wake is replaced in the event', async () => {
    const { post, get } = await start()
    await post('/hooks/wake', `{"text":"one ${halfJson} two","mode":"next-heartbeat"}`)
    expect((await get('/api/sessions/agent:main:main')).body.events[0].text).toBe(`one ${mark} two`)
  })

  it.each([
    ['a template', {}, `{"a":"${halfJson}","${halfJson}":1}`],
    ['a form', {}, 'a=%ED%A0%BD'],
    ['a transform', { transform: { module: 'half.ts' } }, '{"a":"😀"}'],
  ])('in %s is replaced in the action', async (_what, mapping, body) => {
    const type = body.startsWith('{') ? 'application/json' : 'application/x-www-form-urlencoded'
    const mappings = [{ match: { path: 'in' }, messageTemplate: 'one {{ a }} two', deliver: false, ...mapping }]
    const { post, sent } = await start(
      { hooks: { mappings } },
      { 'half.ts': 'export default ({ payload }) => ({ message: `one ${payload.a.slice(0, 1)} two` })' },
    )
    expect((await post('/hooks/in', body, { 'content-type': type, ...wait })).status).toBe(200)
    expect(await sent()).toMatch(new RegExp(`one ${mark}+ two`))
  })

  it('in the arguments of a tool is replaced, over HTTP, MCP and the WebSocket', async () => {
    const { url, tool, get } = await start()
    const call = (text: string) =>
      `{"tool":"cron","args":{"action":"add","at":"1h","deliver":false,"message":"${text}"}}`
    const answers = [(await tool(call(`http ${halfJson}`))).body]
    const socket = await login(url)
    answers.push((await socket.call('tools.invoke', JSON.parse(call(`socket ${halfJson}`)))).result)
    expect(answers).toMatchObject([{ ok: true }, { ok: true }])
    const headers = { authorization: `Bearer ${gatewayToken}`, accept: 'application/json, text/event-stream' }
    const params = `{"name":"cron","arguments":{"action":"add","at":"1h","deliver":false,"message":"mcp ${halfJson}"}}`
    await fetch(`${url}/mcp`, {
      method: 'POST',
      headers,
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
    })
    const listed = JSON.stringify((await tool('{"tool":"cron","args":{"action":"list"}}')).body)
    for (const way of ['http', 'socket', 'mcp']) expect(listed).toContain(`${way} ${mark}`)
    expect((await get('/healthz')).status).toBe(200)
  })

  it('in a chat is replaced', async () => {
    const { url, sent } = await start()
    await (await login(url)).call('chat.send', { text: `one ${half} two` })
    expect(await sent()).toContain(`one ${mark} two`)
  })

  it('in a message from a channel is replaced', async () => {
    const chat = await startChat()
    const dir = temporaryFolder()
    const config = chat.config(dir, { 'chat-native': { allowFrom: ['*'] } })
    const model = await startModel()
    model.otherwise({ text: 'Done.' })
    const agents = { defaults: { model: 'double/m', heartbeat: { every: 0 } } }
    await startGateway({ agents, providers: model.providers, ...config }, dir)
    await chat.say({ text: `one ${half} two`, route: { service: half } })
    expect(await model.prompt(0)).toBe(`one ${mark} two`)
    expect((await chat.holds(1))[0]).toMatchObject({ route: { service: mark } })
  })

  it('in what a model says, calls, and gets back from a tool is replaced, also within the turn', async () => {
    const { model, post, get, sent } = await start({ tools: { profile: 'full' } })
    model.script({ tool: 'session_status', args: { sessionKey: `no ${half}` } }, { text: `reply ${half}` })
    const done = await post('/hooks/agent', { message: 'go', deliver: false }, wait)
    expect(await sent(1)).toContain(`no ${mark}`)
    expect(done.body.reply).toBe(`reply ${mark}`)
    const { transcript } = (await get(`/api/sessions/${encodeURIComponent(done.body.sessionKey)}`)).body
    expect(JSON.stringify(transcript)).toContain(`reply ${mark}`)
    expect(isWell(transcript)).toBe(true)
  })

  it('that an earlier version stored does not reach a model', async () => {
    const { model, post, sent, dir } = await start({ hooks: { allowRequestSessionKey: true } })
    const say = () => post('/hooks/agent', { message: 'remember', deliver: false, sessionKey: 'hook:old' }, wait)
    await say()
    const db = new DatabaseSync(join(dir, 'state', 'gateway.db'))
    expect(
      db.prepare(`UPDATE transcript SET message = replace(message, 'Done.', 'old \\ud83d')`).run().changes,
    ).toBeGreaterThan(0)
    db.close()
    await say()
    expect(await sent(1)).toContain(`old ${mark}`)
    expect(model.requests).toHaveLength(2)
  })
})

describe('wellFormed', () => {
  it('keeps the very value where nothing is wrong with it, and what is no plain data', () => {
    const fine = { a: ['😀', { b: null, c: 1 }], d: new Date(0), e: new Uint8Array(2) }
    expect(wellFormed(fine)).toBe(fine)
  })

  it('replaces halves in values and names, at any depth', () => {
    expect(wellFormed({ [half]: [{ x: `a${half}` }, '\udc00'] })).toEqual({ [mark]: [{ x: `a${mark}` }, mark] })
    expect(wellFormed(JSON.parse(`{"__proto__":{"a":"${halfJson}"}}`))).not.toHaveProperty('a')
  })
})
