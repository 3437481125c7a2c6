// Tests how the gateway serves the control page: headers, encodings, and the exchange of one-time codes.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { renderApiTypes } from '../../.ci/api-types.ts'
import { createSignInCodes } from '../../core/control/page/sign-in.ts'
import { gatewayToken, shareGateway, spawnGateway, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { program } from '../program.ts'

const root = join(import.meta.dirname, '..', '..')
const built = join(root, 'dist', 'page')
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; frame-src 'self'"

describe('GET / and GET /page/:file', () => {
  const gateway = shareGateway()

  it('serves the page with a strict policy and without inline code or addresses outside of it', async () => {
    const response = await gateway.send('/')
    expect(response.headers.get('content-security-policy')).toBe(policy)
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(response.headers.get('cache-control')).toBe('no-cache')
    const html = await response.text()
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style|style=|\son\w+=/)
    const addresses = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address)
    expect(addresses.length).toBeGreaterThan(3)
    expect(addresses.filter((address) => !/^page\/[\w-]+-\w{8}\.\w+$/.test(address ?? ''))).toEqual([])
  })

  it('returns 304 for a page that has not changed', async () => {
    const etag = (await gateway.send('/')).headers.get('etag') ?? ''
    const response = await gateway.send('/', { headers: { 'if-none-match': etag } })
    expect([response.status, await response.text()]).toEqual([304, ''])
    expect((await gateway.send('/', { headers: { 'if-none-match': '"old"' } })).status).toBe(200)
  })

  it.each([
    ['br', (bytes: Buffer) => brotliDecompressSync(bytes)],
    ['gzip', (bytes: Buffer) => gunzipSync(bytes)],
    ['identity', (bytes: Buffer) => bytes],
    ['br;q=0, gzip', (bytes: Buffer) => gunzipSync(bytes)],
  ])('serves a script that may be cached for good, for Accept-Encoding: %s', async (accepted, decode) => {
    const name = readdirSync(built).find((file) => /^main-.*\.js$/.test(file)) as string
    const { bytes, headers } = await fetchRaw(`/page/${name}`, accepted)
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      vary: 'accept-encoding',
    })
    expect(decode(bytes).equals(readFileSync(join(built, name)))).toBe(true)
  })

  it('serves only its own files', async () => {
    const names = ['nothing-00000000.js', 'index.html', '..%2fmain.js', '%2e%2e%2fpackage-00000000.json', '__proto__']
    for (const name of names) expect((await gateway.send(`/page/${name}`)).status).toBe(404)
  })

  it('has no page when gateway.page is false', async () => {
    const { url, gateway } = await startGateway({ gateway: { page: false } })
    expect((await fetch(`${url}/`)).status).toBe(404)
    expect((await fetch(`${url}/page/sign-in`, { method: 'POST', body: '{"code":"x"}' })).status).toBe(404)
    expect(gateway.issuePageLink()).toBeUndefined()
    const link = await fetch(`${url}/api/page/link`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gatewayToken}` },
    })
    expect(await link.json()).toMatchObject({ error: { message: expect.stringContaining('gateway.page') } })
  })

  /** `fetch` would decode the body. */
  async function fetchRaw(path: string, accepted: string) {
    const { request } = await import('node:http')
    const { url } = await gateway.send('/')
    const sent = request(new URL(path, url), { headers: { 'accept-encoding': accepted } }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return { bytes: Buffer.concat(await response.toArray()), headers: response.headers }
  }
})

describe('POST /page/sign-in', () => {
  const signIn = (url: string, code: string): Promise<Response> =>
    fetch(`${url}/page/sign-in`, { method: 'POST', body: JSON.stringify({ code }) })

  it('exchanges a code for the credential once', async () => {
    const { url, gateway } = await startGateway()
    const code = (gateway.issuePageLink() ?? '').replace('/#code=', '')
    const first = await signIn(url, code)
    expect(await first.json()).toEqual({ ok: true, credential: gatewayToken })
    expect(first.headers.get('cache-control')).toBe('no-store')
    expect((await signIn(url, code)).status).toBe(401)
  })

  it('creates links for those who have the credential', async () => {
    const { url } = await startGateway()
    const headers = { authorization: `Bearer ${gatewayToken}` }
    expect((await fetch(`${url}/api/page/link`, { method: 'POST' })).status).toBe(401)
    const reply = (await (await fetch(`${url}/api/page/link`, { method: 'POST', headers })).json()) as { path: string }
    expect((await signIn(url, reply.path.replace('/#code=', ''))).status).toBe(200)
  })

  it('takes the codes of the links that the command `page` prints', async () => {
    const file = writeConfig(temporaryFolder())
    const gateway = await spawnGateway(file)
    onTestFinished(async () => void (await gateway.end('SIGKILL')))
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'page', '--config', file])
    const [, address, code = ''] = /^(\S+)\/#code=(\S+)\n$/.exec(stdout) ?? []
    expect(address).toBe(gateway.url)
    expect((await signIn(gateway.url, code)).status).toBe(200)
    expect((await signIn(gateway.url, code)).status).toBe(401)
  })

  it('says of a link of another gateway that it works only there', async () => {
    const [mine, others] = [createSignInCodes(), createSignInCodes()].map((codes) => codes.issue())
    const { url } = await startGateway()
    for (const code of [mine, others, 'none'])
      expect(await (await signIn(url, code as string)).text()).toContain('was made by another gateway')
    const headers = { authorization: `Bearer ${gatewayToken}` }
    const { path } = (await (await fetch(`${url}/api/page/link`, { method: 'POST', headers })).json()) as {
      path: string
    }
    const own = path.replace('/#code=', '')
    expect((await signIn(url, own)).status).toBe(200)
    expect(await (await signIn(url, own)).text()).toContain('was used already')
  })

  it('locks out an address that guesses codes', async () => {
    const { url } = await startGateway({
      gateway: { auth: { token: gatewayToken, rateLimit: { maxAttempts: 3, exemptLoopback: false } } },
    })
    const statuses: number[] = []
    for (const code of ['a', 'b', 'c', 'd']) statuses.push((await signIn(url, code)).status)
    expect(statuses).toEqual([401, 401, 401, 429])
  })

  it('accepts a code for five minutes, and keeps at most 100', () => {
    let time = 0
    const codes = createSignInCodes(() => time)
    const [early, late] = [codes.issue(), codes.issue()]
    time = 5 * 60_000 - 1
    expect(codes.redeem(early)).toBe(true)
    time += 1
    expect(codes.redeem(late)).toBe(false)
    const first = codes.issue()
    const others = Array.from({ length: 100 }, () => codes.issue())
    expect([codes.redeem(first), codes.redeem(others[0] as string)]).toEqual([false, true])
  })
})

describe('the build of the page', () => {
  it('keeps its sizes: 80 kB for the first load, 40 kB for each view, 160 kB for the editor, with gzip', () => {
    const html = readFileSync(join(built, 'index.html'), 'utf8')
    const compressed = readdirSync(built).filter((name) => name.endsWith('.gz'))
    const sizeOf = (name: string): number => statSync(join(built, name)).size
    const isFirst = (name: string): boolean => html.includes(name.replace(/\.gz$/, ''))
    const first = compressed.filter(isFirst).reduce((sum, name) => sum + sizeOf(name), 0)
    expect(first).toBeGreaterThan(10_000)
    expect(first).toBeLessThan(80_000)
    const large = compressed.filter((name) => !isFirst(name) && sizeOf(name) > 40_000)
    expect(large).toEqual([expect.stringMatching(/^editor-/)])
    expect(sizeOf(large[0] as string)).toBeLessThan(160_000)
  })

  it('has the types of the current API; after a change, run `npm run page:types`', async () => {
    const { get } = await startGateway({ hooks: { enabled: false }, tools: { allow: [] } })
    const { body } = await get('/openapi.json')
    const file = join(root, 'plugins', 'page', 'api', 'schema.ts')
    expect(readFileSync(file, 'utf8')).toBe(renderApiTypes(body))
  })
})
