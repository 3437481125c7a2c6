// Requests of services as they sign them: accepted into their session, once per id, and refused when forged.
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { verifyKey } from 'discord-interactions'
import { afterEach, describe, expect, it } from 'vitest'
import { netlifyToken } from '../hooks/signing.ts'
import { type Answer, shareGateway } from '../helpers.ts'
import { payloads } from './payloads.ts'

const secret = 'a secret of the sender'
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const trelloUrl = 'https://gateway.example.com/hooks/trello'
const keys = generateKeyPairSync('ed25519')
const publicKey = Buffer.from(keys.publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex')
const hmac = (text: string, encoding: 'hex' | 'base64' = 'hex', algorithm = 'sha256') =>
  createHmac(algorithm, secret).update(text).digest(encoding)

type Headers = Record<string, string>

interface Case {
  name: string
  /** The `what` of a payload of this preset. */
  what: string
  sign(body: string): Headers
  /** Headers that no signature covers. */
  headers?: Headers
  session: string
}

const cases: readonly Case[] = [
  {
    name: 'jira',
    what: 'a new state',
    sign: (body) => ({ 'x-hub-signature': `sha256=${hmac(body)}` }),
    headers: { 'x-atlassian-webhook-identifier': 'i1' },
    session: '10042',
  },
  {
    name: 'bitbucket',
    what: 'a pull request',
    sign: (body) => ({ 'x-hub-signature': `sha256=${hmac(body)}` }),
    session: 'octo/shop/pull-requests/7',
  },
  {
    name: 'gitea',
    what: 'an issue of Forgejo',
    sign: (body) => ({ 'x-forgejo-signature': hmac(body), 'x-gogs-signature': hmac(body) }),
    session: 'octo/shop#3',
  },
  {
    name: 'shopify',
    what: 'an order',
    sign: (body) => ({ 'x-shopify-hmac-sha256': hmac(body, 'base64') }),
    session: 'octo.myshopify.com/orders/820982911946154508',
  },
  {
    name: 'circleci',
    what: 'a workflow that failed',
    sign: (body) => ({ 'circleci-signature': `v1=${hmac(body)}` }),
    session: 'github/octo/shop#main',
  },
  {
    name: 'netlify',
    what: 'a production deploy that failed',
    sign: (body) => ({ 'x-webhook-signature': netlifyToken({ secret, text: body }) }),
    session: 'fa4dd95a@main',
  },
  {
    name: 'trello',
    what: 'a comment',
    sign: (body) => ({ 'x-trello-webhook': hmac(body + trelloUrl, 'base64', 'sha1') }),
    session: 'c1',
  },
  {
    name: 'opsgenie',
    what: 'an alert',
    sign: () => ({ authorization: `Basic ${Buffer.from('opsgenie:password').toString('base64')}` }),
    session: '052652ac-5d1c',
  },
  {
    name: 'uptimerobot',
    what: 'a monitor that is down',
    sign: () => ({ 'x-uptimerobot-token': secret }),
    session: '789',
  },
]

const sampleOf = ({ name, what }: Pick<Case, 'name' | 'what'>) => {
  const sample = payloads[name]?.told.find((one) => one.what === what)
  if (!sample) throw new Error(`There is no payload "${what}" of ${name}.`)
  return { body: JSON.stringify(sample.payload), headers: sample.headers ?? {} }
}

const isReplay = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true'

describe('a request of a service', () => {
  const signed = ['jira', 'bitbucket', 'gitea', 'shopify', 'circleci', 'netlify']
  const {
    post,
    get,
    send: fetchPath,
  } = shareGateway({
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: {
      presets: [...cases.map(({ name }) => name), 'discord-interactions'],
      ...Object.fromEntries(signed.map((name) => [name, { ...quiet, auth: { secret } }])),
      trello: { ...quiet, auth: { secret, url: trelloUrl } },
      opsgenie: {
        ...quiet,
        auth: { scheme: 'token', header: 'authorization', secret: 'Basic b3BzZ2VuaWU6cGFzc3dvcmQ=' },
      },
      uptimerobot: { ...quiet, auth: { scheme: 'token', header: 'x-uptimerobot-token', secret } },
      'discord-interactions': { ...quiet, auth: { secret: publicKey } },
    },
  })
  const unsigned = { authorization: '' }

  const send = (one: Case, { headers = {}, body }: { headers?: Headers; body?: string } = {}) => {
    const sample = sampleOf(one)
    return post(`/hooks/${one.name}`, body ?? sample.body, {
      ...unsigned,
      ...sample.headers,
      ...one.headers,
      ...one.sign(sample.body),
      ...headers,
    })
  }

  // An accepted request clears the count of failed ones, so that the address is not locked out.
  afterEach(() => send(cases[0] as Case))

  const sessionOf = async ({ body }: Answer): Promise<string> => (await get(`/runs/${body.runId}`)).body.sessionKey

  it.each(cases)('of $name starts a run in its session, once', async (one) => {
    const first = await send(one)
    expect(first).toMatchObject({ status: 200, body: { runId: expect.any(String) } })
    expect(await sessionOf(first)).toBe(`agent:main:hook:${one.name}:${one.session}`.toLowerCase())
    const again = await send(one)
    expect(again.body).toEqual(first.body)
    expect(isReplay(again)).toBe(true)
  })

  it.each(cases)('of $name is rejected without its proof, with another, and with the hook token', async (one) => {
    const [header = ''] = Object.keys(one.sign(''))
    const wrong = Object.fromEntries(Object.keys(one.sign('')).map((name) => [name, 'Basic eA==']))
    for (const headers of [wrong, { ...wrong, [header]: '' }]) {
      expect(await send(one, { headers })).toMatchObject({ status: 401 })
    }
    const { body, headers } = sampleOf(one)
    expect(await post(`/hooks/${one.name}`, body, headers)).toMatchObject({ status: 401 })
  })

  it.each(cases.filter(({ name }) => !['opsgenie', 'uptimerobot'].includes(name)))(
    'of $name is rejected with another body',
    async (one) => expect(await send(one, { body: '{}' })).toMatchObject({ status: 401 }),
  )

  it('of Netlify is rejected with the token of another issuer, and with one that is no token', async () => {
    const one = cases.find(({ name }) => name === 'netlify') as Case
    const { body } = sampleOf(one)
    const token = netlifyToken({ secret, text: body })
    for (const value of [
      netlifyToken({ secret, text: body, claims: { iss: 'somebody' } }),
      token.split('.').slice(0, 2).join('.'),
      `${token}.${token}`,
      'x.y.z',
      hmac(body),
    ])
      expect(await send(one, { headers: { 'x-webhook-signature': value } })).toMatchObject({ status: 401 })
  })

  it('of Trello that checks the URL with HEAD is answered with 200', async () => {
    expect((await fetchPath('/hooks/trello', { method: 'HEAD' })).status).toBe(200)
    expect((await fetchPath('/hooks/jira', { method: 'HEAD' })).status).toBe(405)
  })

  it('of UptimeRobot may be a form', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = 'monitorFriendlyName=Blog+%26+shop&alertType=2&monitorID=4'
    const one = cases.find(({ name }) => name === 'uptimerobot') as Case
    expect(await sessionOf(await send(one, { headers, body }))).toBe('agent:main:hook:uptimerobot:4')
  })

  it('of Jira that reports the same comment again, as an update of its issue, starts nothing', async () => {
    const jira = cases.find(({ name }) => name === 'jira') as Case
    const comment = (what: string, id: string) =>
      send({ ...jira, what, headers: { 'x-atlassian-webhook-identifier': id } })
    const first = await comment('a comment', 'i2')
    const again = await comment('a comment of Data Center', 'i3')
    expect(first).toMatchObject({ status: 200, body: { runId: expect.any(String) } })
    expect(isReplay(again)).toBe(true)
    expect(again.body).toEqual(first.body)
  })

  // ── Discord ───────────────────────────────────────────────────────────────────────────────────

  const interact = async (interaction: object, change: (body: string) => string = (body) => body) => {
    const body = JSON.stringify(interaction)
    const time = String(Math.floor(Date.now() / 1000))
    const signature = sign(null, Buffer.from(time + body), keys.privateKey).toString('hex')
    expect(await verifyKey(body, signature, time, publicKey)).toBe(true)
    const headers = { ...unsigned, 'x-signature-timestamp': time, 'x-signature-ed25519': signature }
    return post('/hooks/discord-interactions', change(body), headers)
  }
  const base = {
    id: '786008729715212338',
    channel_id: '645',
    token: 't',
    version: 1,
    member: { user: { username: 'ada' } },
  }
  const received = { type: 4, data: { content: 'Received.', flags: 64 } }

  it('of Discord is answered in its format: a ping, a command, a button, text to complete, a form', async () => {
    const answerTo = async (type: number, data: object) => {
      const { status, headers, body } = await interact({ ...base, id: `78600872971521234${type}`, type, data })
      expect({ status, type: headers.get('content-type') }).toEqual({
        status: 200,
        type: 'application/json; charset=utf-8',
      })
      return body
    }
    expect(await answerTo(1, {})).toEqual({ type: 1 })
    expect(await answerTo(2, { name: 'deploy' })).toEqual(received)
    expect(await answerTo(3, { custom_id: 'retry', component_type: 2 })).toEqual({ type: 6 })
    expect(await answerTo(4, { name: 'deploy', options: [] })).toEqual({ type: 8, data: { choices: [] } })
    expect(await answerTo(5, { custom_id: 'report', components: [] })).toEqual(received)
  })

  it('of Discord starts one run per interaction, in the session of the channel', async () => {
    const command = { ...base, type: 2, data: { name: 'status', type: 1 } }
    expect(await interact(command)).toMatchObject({ body: received })
    const again = await interact(command)
    expect(again).toMatchObject({ body: received })
    expect(isReplay(again)).toBe(true)
    const { items } = (await get('/api/runs?hook=discord-interactions')).body
    const sessions = items.map(({ sessionKey }: { sessionKey: string }) => sessionKey)
    expect(new Set(sessions).size).toBe(1)
    expect(sessions[0]).toMatch(/hook:discord-interactions:645$/)
  })

  it('of Discord is rejected when it was changed, and answered with an error when it is invalid', async () => {
    const command = { ...base, id: '1', type: 2, data: { name: 'status' } }
    expect(await interact(command, (body) => `${body} `)).toMatchObject({ status: 401 })
    expect(await interact({ ...command, data: 'x' })).toMatchObject({ status: 400 })
  })
})
