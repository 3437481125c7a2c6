// Handshakes, with which a service checks the URL: their reply, their record, and that they start nothing.
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { gatewayToken, hookToken, shareGateway } from '../helpers.ts'

const secret = 'a secret of the sender'
const quiet = { deliver: false, wakeMode: 'next-heartbeat', messageTemplate: 'x' }
const operator = { authorization: `Bearer ${gatewayToken}` }

describe('a handshake', () => {
  const { post, get } = shareGateway({
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: {
      mappings: [
        { match: { path: 'chat' }, auth: { scheme: 'slack', secrets: ['another', secret] }, ...quiet },
        { match: { path: 'replayed' }, auth: { scheme: 'slack', secret }, ...quiet },
        { match: { path: 'calls' }, auth: { scheme: 'zoom', secret }, ...quiet },
        { match: { path: 'pages' }, auth: { scheme: 'meta', secret, verifyToken: 'agreed on' }, ...quiet },
      ],
    },
  })

  /** Sends a handshake of Slack or Zoom; the reply may be plain text. */
  async function ask(path: string, question: object, family: string): Promise<void> {
    const body = JSON.stringify(question)
    const time = String(Math.floor(Date.now() / 1000))
    const signature = `v0=${createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex')}`
    const headers = { authorization: '', [`${family}-request-timestamp`]: time, [`${family}-signature`]: signature }
    await post(path, body, headers).catch(() => undefined)
  }

  /** The newest record of this hook, as soon as it is stored. */
  async function noted(hook: string, count = 1) {
    const list = async () => (await get(`/api/requests?hook=${hook}`)).body.items
    await expect.poll(async () => (await list()).length).toBe(count)
    const [line] = await list()
    return { line, whole: (await get(`/api/requests/${line.id}`)).body }
  }

  it('is recorded as skipped, with its authentication and without the token in its body', async () => {
    await ask('/hooks/chat', { type: 'url_verification', token: 'known to Slack and us', challenge: 'c-1' }, 'x-slack')
    const { line, whole } = await noted('chat')
    expect(line).toMatchObject({
      status: 'skipped',
      reason: 'handshake',
      authentication: { scheme: 'slack', secret: 1 },
    })
    expect(JSON.parse(whole.body)).toEqual({ type: 'url_verification', token: '[redacted]', challenge: 'c-1' })
    expect(whole).toMatchObject({ actions: [], headers: { 'x-slack-signature': '[redacted]' } })
  })

  it('is recorded without tokens deeper in the body', async () => {
    await ask('/hooks/calls', { event: 'endpoint.url_validation', payload: { plainToken: 'q-7' } }, 'x-zm')
    const { whole } = await noted('calls')
    expect(JSON.parse(whole.body)).toEqual({ event: 'endpoint.url_validation', payload: { plainToken: '[redacted]' } })
  })

  it('by GET is recorded without the token in its query, and a wrong token without anything of the request', async () => {
    const query = (token: string) => `/hooks/pages?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=4711`
    await get(query('guessed'), { authorization: '' })
    await noted('pages')
    await get(query('agreed%20on'), { authorization: '' })
    const { line, whole } = await noted('pages', 2)
    expect(line).toMatchObject({ status: 'skipped', reason: 'handshake', authentication: { scheme: 'meta' } })
    expect(whole).toMatchObject({
      body: null,
      query: { 'hub.mode': 'subscribe', 'hub.verify_token': '[redacted]', 'hub.challenge': '4711' },
    })
  })

  it('is not replayed without the body of an event', async () => {
    await ask('/hooks/replayed', { type: 'url_verification', challenge: 'c-2' }, 'x-slack')
    const { line } = await noted('replayed')
    const replay = (body: object) => post(`/api/requests/${line.id}/replay`, body, operator)
    expect(await replay({})).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('was a verification request of the service') } },
    })
    expect(await replay({ dryRun: true })).toMatchObject({ status: 409 })
    expect(await replay({ dryRun: true, body: { text: 'An event.' } })).toMatchObject({
      status: 200,
      body: { actions: [{ action: 'agent' }] },
    })
  })

  it('is rejected with the hook token instead of a signature, and is no handshake then', async () => {
    const handshakes = async () => (await get('/api/requests?hook=chat&status=skipped')).body
    const before = await handshakes()
    await post('/hooks/chat', { type: 'url_verification', challenge: 'c-2' }, { authorization: `Bearer ${hookToken}` })
    await expect.poll(async () => (await get('/api/requests?hook=chat&status=rejected')).body.items).toHaveLength(1)
    expect(await handshakes()).toEqual(before)
  })
})
