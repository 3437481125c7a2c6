// The name of a hook: slashes around it do not count, and there is no other second spelling.
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { connect } from 'node:net'
import { hookToken, startGateway } from '../helpers.ts'
import { reconfigure } from '../reconfigure.ts'
import { share } from '../share.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }
const quiet = { deliver: false, wakeMode: 'next-heartbeat', messageTemplate: 'x' }
const secret = 'a secret of the sender'
const body = '{"id":7}'
const signature = createHmac('sha256', secret).update(body).digest('hex')
const auth = { scheme: 'hmac', header: 'X-Sign', secret }

/** Sends a request whose target is exactly this text, which `fetch` would tidy up, and returns its status. */
async function post(url: string, target: string, headers: Record<string, string>): Promise<number> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const lines = Object.entries({
    host: hostname,
    'content-length': String(body.length),
    connection: 'close',
    ...headers,
  })
  socket.write(
    `POST ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  )
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
}

/** Spellings of `ci/nightly` that a tolerant router would accept. */
const otherSpellings = [
  'ci//nightly',
  'ci/nightly/%20',
  'ci/nightly/./',
  'ci%2Fnightly',
  'ci%2fnightly',
  'ci/nightly%2F',
  '%2Fci/nightly',
  'ci/nightly%20',
  '%20ci/nightly',
  'ci/%09nightly',
  'ci/nightly%C2%A0',
  'ci/nightly%E2%80%A8',
  'ci/nightly%EF%BB%BF',
  './ci/nightly',
  'ci/./nightly',
  'ci/x/../nightly',
  'ci/%2e/nightly',
  'ci/nightly/%2E%2E/nightly',
  '',
  '/',
  '%20',
  'wake/',
  '/wake',
  'agent/',
  '/agent//',
  'agent%20',
]

/** Spellings of `ci/nightly` with slashes around it. */
const withSlashes = ['ci/nightly/', 'ci/nightly//', '/ci/nightly', '//ci/nightly/', 'c%69/nightly/']

describe('the name of a hook', () => {
  const configured = share(() => startGateway({ agents }))

  it('returns 404 for another spelling, signed or with the token, even when a mapping matches any name', async () => {
    const { url, get } = await startGateway({
      agents,
      hooks: {
        mappings: [
          { match: { path: 'ci/nightly' }, auth, ...quiet, idempotencyKey: '{{ id }}' },
          { id: 'any', ...quiet },
        ],
      },
    })
    const token = { authorization: `Bearer ${hookToken}` }
    const statuses: Record<string, number[]> = {}
    for (const spelling of otherSpellings) {
      statuses[spelling] = [
        await post(url, `/hooks/${spelling}`, { 'x-sign': signature }),
        await post(url, `/hooks/${spelling}`, token),
      ]
    }
    expect(statuses).toEqual(Object.fromEntries(otherSpellings.map((spelling) => [spelling, [401, 404]])))
    expect(await post(url, '/hooks/CI/nightly', { 'x-sign': signature })).toBe(401)
    expect((await get('/api/runs')).body.items).toEqual([])
  })

  it('is the same for idempotency keys, the log and the run, however it is spelled', async () => {
    const { url, get } = await startGateway({
      agents,
      hooks: { mappings: [{ match: { path: '/ci/nightly/' }, auth, ...quiet, idempotencyKey: '{{ id }}' }] },
    })
    for (const target of [
      ...withSlashes.map((spelling) => `/hooks/${spelling}`),
      '/hooks/ci/nightly',
      '/hooks/c%69/nightly',
      '/%68ooks/ci/nightl%79',
      '/hooks/ci/nightly?again=1',
      '/hooks/ci/nightly#again',
    ]) {
      expect(`${target}: ${await post(url, target, { 'x-sign': signature })}`).toMatch(/: 200$/)
    }
    const runs = (await get('/api/runs')).body.items
    expect(runs.map(({ origin }: { origin: { name: string } }) => origin.name)).toEqual(['ci/nightly'])
    await expect
      .poll(async () => (await get('/api/requests?hook=ci%2Fnightly&status=duplicate')).body.items.length)
      .toBe(withSlashes.length + 4)
  })

  it('is the same for the rate limit', async () => {
    const rateLimit = { maxPerMinute: withSlashes.length }
    const { url } = await startGateway({
      agents,
      hooks: { mappings: [{ match: { path: 'ci/nightly' }, ...quiet, rateLimit }] },
    })
    const token = { authorization: `Bearer ${hookToken}` }
    for (const spelling of withSlashes) expect(await post(url, `/hooks/${spelling}`, token)).toBe(200)
    expect(await post(url, '/hooks/ci/nightly', token)).toBe(429)
  })

  it('may have a trailing slash for a preset, and when its service checks the address', async () => {
    const { url } = await startGateway({
      agents,
      hooks: {
        presets: ['github'],
        github: { auth: { secret } },
        mappings: [
          { match: { path: 'ci' }, auth: { ...auth, handshake: { query: 'challenge', head: true } }, ...quiet },
        ],
      },
    })
    const sign = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
    const github = { 'x-hub-signature-256': sign, 'x-github-event': 'ping', 'x-github-delivery': '7' }
    for (const target of ['/hooks/github', '/hooks/github/']) expect(await post(url, target, github)).toBe(200)
    for (const target of ['/hooks/ci', '/hooks/ci/']) {
      expect(await (await fetch(`${url}${target}?challenge=42`)).text()).toBe('42')
      expect((await fetch(`${url}${target}`, { method: 'HEAD' })).status).toBe(200)
      expect((await fetch(`${url}${target}`, { method: 'PUT' })).headers.get('allow')).toBe('GET, HEAD, POST')
    }
    expect((await fetch(`${url}/hooks/wake/`)).headers.get('allow')).toBe('POST')
  })

  it('is the same in the record of a rejected request', async () => {
    const { url, get } = await startGateway({
      agents,
      hooks: { mappings: [{ match: { path: 'ci/nightly' }, ...quiet, messageTemplate: '{{ nothing }}' }] },
    })
    const token = { authorization: `Bearer ${hookToken}` }
    for (const target of ['/hooks/c%69/nightly', '/%68ooks/ci/nightly', '/hooks/%77ake', '/hooks/nothing%41#x']) {
      expect([400, 404]).toContain(await post(url, target, token))
    }
    const names = async () =>
      (await get('/api/requests?status=rejected')).body.items.map(({ hook }: { hook: string }) => hook)
    await expect.poll(names).toHaveLength(4)
    expect((await names()).toSorted()).toEqual(['ci/nightly', 'ci/nightly', 'nothingA', 'wake'])
  })

  it.each(['/hooks/in', 'hooks/in/', '//hooks/in//'])('has one valid spelling below hooks.path: %s', async (path) => {
    await reconfigure(configured(), {
      agents,
      hooks: { path, mappings: [{ match: { path: '/ci/nightly/' }, auth, ...quiet }] },
    })
    const send = (target: string) => post(configured().url, target, { 'x-sign': signature })
    expect(await send('/hooks/in/ci/nightly')).toBe(200)
    expect(await send('/hooks/in//ci/nightly')).toBe(200)
    for (const target of [
      '/hooks//in/ci/nightly',
      '//hooks/in/ci/nightly',
      '/Hooks/in/ci/nightly',
      '/hooks%2Fin/ci/nightly',
      '/hooks/in%20/ci/nightly',
    ]) {
      expect(`${target}: ${await send(target)}`).toMatch(/: 40[14]$/)
    }
  })
})
