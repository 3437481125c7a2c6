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
import { share } from './share.ts'
import { wellFormed } from '../core/well-formed.ts'

const half = '\ud83d'
const halfJson = String.raw`\ud83d`
const mark = '\ufffd'

const isWell = (value: unknown): boolean => !/\\u[dD][89a-fA-F]/.test(JSON.stringify(value))

async function start(changes: Document = {}, dir = temporaryFolder()) {
  const model = await startModel()
  model.otherwise({ text: 'Done.' })
  const agents = { defaults: { model: 'double/m', heartbeat: { every: 0 }, systemPrompt: `Be ${half}.` } }
  const running = await startGateway({ agents, providers: model.providers, ...changes }, dir)
  /** Resolves with the first request to the model that contains this text. */
  const sent = async (text: string): Promise<string> => {
    for (let index = 0; ; index++) {
      const { body } = await model.request(index)
      expect(isWell(body)).toBe(true)
      if (JSON.stringify(body).includes(text)) return JSON.stringify(body)
    }
  }
  /** The texts of the events that wait in the main session. */
  const waiting = async (): Promise<string[]> => {
    const { events } = (await running.get('/api/sessions/agent:main:main')).body
    return events.map(({ text }: { text: string }) => text)
  }
  const tool = (body: string) =>
    ask(`${running.url}/tools/invoke`, { method: 'POST', headers: { authorization: `Bearer ${gatewayToken}` }, body })
  return { model, sent, waiting, tool, ...running }
}

const wait = { prefer: 'wait=20' }

describe('half a character', () => {
  const shared = share(() => {
    const dir = temporaryFolder()
    mkdirSync(join(dir, 'transforms'))
    writeFileSync(
      join(dir, 'transforms', 'half.ts'),
      'export default ({ payload }) => ({ message: `transform ${payload.a.slice(0, 1)} end` })',
    )
    const mapping = { deliver: false, wakeMode: 'next-heartbeat' }
    const mappings = [
      { ...mapping, match: { path: 'template' }, messageTemplate: 'template {{ a }} end' },
      { ...mapping, match: { path: 'transform' }, transform: { module: 'half.ts' } },
    ]
    return start({ hooks: { mappings } }, dir)
  })

  it('in a request or in the configuration is replaced before it is stored and sent to the model', async () => {
    const { post, get, sent, waiting } = shared()
    const { body } = await post(
      '/hooks/agent',
      `{"message":"request ${halfJson} end","name":"n${halfJson}","deliver":false,"wakeMode":"next-heartbeat"}`,
      wait,
    )
    expect(await sent(`request ${mark} end`)).toContain(`Be ${mark}.`)
    expect((await get(`/runs/${body.runId}`)).body.name).toBe(`n${mark}`)
    expect(await waiting()).toContainEqual(expect.stringContaining(`n${mark}`))
  })

  it('in a wake is replaced in the event', async () => {
    const { post, waiting } = shared()
    await post('/hooks/wake', `{"text":"wake ${halfJson} end","mode":"next-heartbeat"}`)
    expect(await waiting()).toContain(`wake ${mark} end`)
  })

  it.each([
    ['template', `{"a":"${halfJson}","${halfJson}":1}`],
    ['transform', '{"a":"😀"}'],
  ])('in a %s is replaced in the action', async (way, body) => {
    const { post, sent } = shared()
    expect((await post(`/hooks/${way}`, body, wait)).status).toBe(200)
    expect(await sent(`${way} ${mark}`)).toMatch(new RegExp(`${way} ${mark}+ end`))
  })

  it('in the arguments of a tool is replaced, over HTTP, MCP and the WebSocket', async () => {
    const { url, tool, get } = shared()
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
    const { url, sent } = shared()
    await (await login(url)).call('chat.send', { text: `chat ${half} end` })
    await sent(`chat ${mark} end`)
  })

  it('in a message from a channel is replaced', async () => {
    const chat = await startChat()
    const dir = temporaryFolder()
    const config = chat.config(dir, { 'chat-native': { allowFrom: ['ann'] } })
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
    await sent(`no ${mark}`)
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
    await sent(`old ${mark}`)
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
