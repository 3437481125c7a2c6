// A plugin that was packed when the contract had version 0.1.0 works unchanged, with one extension of each kind.
import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { run } from '../cli/command-line.ts'
import { gatewayToken, hookToken, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { closeAtEnd, share } from '../share.ts'

const packed = fileURLToPath(new URL('../fixtures/svc-gateway-plugin-almanac-1.0.0.tgz', import.meta.url))
const name = 'svc-gateway-plugin-almanac'
const secret = 'secret-of-the-almanac'
const operator = { authorization: `Bearer ${gatewayToken}` }

function install(): string {
  const dir = temporaryFolder()
  const folder = join(dir, 'node_modules', name)
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-xzf', packed, '-C', folder, '--strip-components=1'])
  return dir
}

async function startPost() {
  const received: Record<string, unknown>[] = []
  const accept = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    received.push(JSON.parse(await readAll(request)) as Record<string, unknown>)
    response.end('{}')
  }
  const server = createServer((request, response) => void accept(request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closeAtEnd(async () => {
    server.closeAllConnections()
    await once(server.close(), 'close')
  })
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const shared = share(async () => {
  const post = await startPost()
  const gateway = await startGateway(
    {
      plugins: [name],
      providers: { almanac: { kind: 'almanac-models' } },
      agents: { defaults: { model: 'almanac/echo', heartbeat: { every: 0 } } },
      channels: { 'almanac-post': { url: post.url, token: 'right', allowFrom: ['*'] } },
      hooks: { enabled: true, token: hookToken, presets: ['almanac-feed'], 'almanac-feed': { auth: { secret } } },
    },
    install(),
  )
  return { ...post, ...gateway }
})

describe('a plugin for version 0.1.0 of the contract', () => {
  it('is loaded whole', async () => {
    const { plugins, problems } = (await shared().get('/api/extensions')).body
    expect(problems).toEqual([])
    expect(plugins.find(({ source }: { source: string }) => source === name)).toMatchObject({
      version: '1.0.0',
      extensions: [
        { kind: 'channel', name: 'almanac-post' },
        { kind: 'toolset', name: 'almanac' },
        { kind: 'scheme', name: 'almanac' },
        { kind: 'preset', name: 'almanac-feed' },
        { kind: 'provider', name: 'almanac-models' },
        { kind: 'command', name: 'almanac' },
      ],
    })
  })

  it('accepts a signed webhook, and delivers what its model replies', async () => {
    const { post, received } = shared()
    const body = { day: '2026-06-21', what: 'Solstice' }
    const signature = createHmac('sha256', secret)
      .update(`e1.${JSON.stringify(body)}`)
      .digest('hex')
    const signed = { authorization: '', 'x-almanac': `v1=${signature}`, 'x-almanac-id': 'e1' }
    expect((await post('/hooks/almanac-feed', body, signed)).status).toBe(200)
    expect((await post('/hooks/almanac-feed', body, { ...signed, 'x-almanac': 'v1=00' })).status).toBe(401)
    const request = { message: 'Hello.', channel: 'almanac-post', to: 'ann' }
    const reply = await post('/hooks/agent', request, { prefer: 'wait=20' })
    expect(reply.body).toMatchObject({ reply: expect.stringMatching(/^echo: \d+$/) })
    await expect.poll(() => received).toContainEqual(expect.objectContaining({ to: 'ann', text: reply.body.reply }))
  })

  it('answers tool calls and requests of its platform', async () => {
    const { post } = shared()
    const call = (args: object) => post('/tools/invoke', { tool: 'day_of_year', args }, operator)
    expect((await call({ month: 3, day: 1 })).body).toMatchObject({ result: { number: 60, agentId: 'main' } })
    expect((await call({ month: 2, day: 30 })).body.error.message).toBe('There is no such day.')
    const message = { id: 'm1', from: { id: 'ann' }, to: 'ann', text: 'Hi.' }
    expect((await post('/channels/almanac-post', message)).body).toEqual({ result: 'accepted' })
  })

  it('logs in with an address and a question', async () => {
    const { post, get } = shared()
    await post('/api/channels/almanac-post/login', {}, operator)
    const question = async () => (await get('/api/channels/almanac-post/login')).body.question
    await expect.poll(question).toMatchObject({ text: 'The password', secret: true })
    const answer = { questionId: (await question()).id, answer: 'open sesame' }
    const { body } = await post('/api/channels/almanac-post/login/answer', answer, operator)
    expect(body).toMatchObject({ status: 'linked' })
  })

  it('runs its command', async () => {
    const dir = install()
    const config = writeConfig(dir, { plugins: [name] })
    expect(await run(dir, ['almanac', 'hello', '--config', config])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^[0-9a-f]{64}\n$/),
    })
  })
})
