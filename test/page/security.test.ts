// Tests in a real browser that other sites can neither embed nor read the control page, and that its credential stays
// in the tab.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { shareBrowser } from '../browser.ts'
import { gatewayToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'
import { sharePages } from './open-page.ts'

/** Starts another site on this machine. Its page is empty, and the tests run their code in it. */
async function startSite(): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Another site</title>')
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** Returns what a call in the page has, or how it fails. */
const outcomeOf = async (page: Page, code: string): Promise<unknown> =>
  await page.evaluate(
    `(async () => { try { return await (${code}) } catch (error) { return 'refused: ' + error.name } })()`,
  )

const textOf = (address: string, init = '{}'): string =>
  `fetch('${address}', ${init}).then(async (response) => response.status + await response.text())`

/** Opens a WebSocket, sends a message, and returns the first answer, or `closed`. */
const answerOf = (address: string, message: object): string => `new Promise((resolve) => {
  const socket = new WebSocket('${address}')
  socket.onopen = () => socket.send(${JSON.stringify(JSON.stringify(message))})
  socket.onmessage = ({ data }) => resolve(data)
  socket.onclose = () => resolve('closed')
})`

const auth = (token: string) => ({ jsonrpc: '2.0', id: 1, method: 'auth', params: { token } })

describe('another site', () => {
  const { visit } = sharePages()
  const gateway = share(() => startGateway())

  it.each(['/', '/docs', '/openapi.json', '/healthz', '/page/panels/toolset/files/index.html'])(
    'cannot embed %s in a frame',
    async (path) => {
      const { page } = await visit(await startSite())
      const { url } = gateway()
      for (const address of [url, url.replace('127.0.0.1', 'localhost')])
        for (const element of ['iframe', 'object', 'embed'])
          await page.evaluate(`new Promise((resolve) => {
            const frame = document.createElement('${element}')
            frame.addEventListener('load', resolve)
            frame.addEventListener('error', resolve)
            frame[${JSON.stringify(element)} === 'object' ? 'data' : 'src'] = '${address}${path}'
            document.body.append(frame)
          })`)
      // What may not be embedded is replaced by a page of the browser itself.
      const shown = await Promise.all(
        page
          .frames()
          .slice(1)
          .map(async (frame) => await frame.evaluate<string>('document.body?.innerText ?? ""')),
      )
      expect(shown.join(' ')).not.toMatch(/svc-gateway|Workspaces|"ok"|Credential/)
      expect(
        page
          .frames()
          .slice(1)
          .filter((frame) => frame.url().startsWith('http'))
          .map((frame) => frame.url()),
      ).toEqual([])
    },
  )

  it('can neither read the page and the API, nor load their scripts', async () => {
    const { url } = gateway()
    const { page } = await visit(await startSite())
    const index = await (await fetch(`${url}/`)).text()
    const [asset = ''] = /page\/[\w-]+\.js/.exec(index) ?? []
    expect(asset).not.toBe('')
    const credential = `{ headers: { authorization: 'Bearer ${gatewayToken}' } }`
    for (const code of [
      textOf(`${url}/`),
      textOf(`${url}/openapi.json`, credential),
      textOf(`${url}/api/runs`),
      textOf(`${url}/api/runs`, credential),
      textOf(`${url}/api/config`, credential),
      textOf(`${url}/healthz`),
      textOf(`${url}/${asset}`),
      textOf(`${url}/page/sign-in`, `{ method: 'POST', body: '{"code":"x"}' }`),
      textOf(`${url}/tools/invoke`, `{ method: 'POST', body: '{"tool":"agents_list"}', ...${credential} }`),
    ])
      expect([code, await outcomeOf(page, code)]).toEqual([code, 'refused: TypeError'])
    const loaded = await page.evaluate(`new Promise((resolve) => {
      const script = Object.assign(document.createElement('script'), { src: '${url}/${asset}', type: 'module' })
      script.onload = () => resolve('loaded')
      script.onerror = () => resolve('refused')
      document.body.append(script)
    })`)
    expect(loaded).toBe('refused')
    // The window of the page, which is opened and not embedded, is unknown to its opener.
    expect(
      await page.evaluate(`(() => { const other = open('${url}/'); return other?.document?.title ?? '' })()`),
    ).toBe('')
  })

  it('can change nothing with requests that need no permission', async () => {
    const { url, get } = gateway()
    const { page } = await visit(await startSite())
    const before = (await get('/api/audit')).body.items.length
    for (const [path, body] of [
      ['/tools/invoke', { tool: 'agents_list' }],
      ['/hooks/wake', { text: 'hello', mode: 'now' }],
      ['/api/page/link', {}],
    ] as const)
      await page.evaluate(
        `fetch('${url}${path}', { method: 'POST', mode: 'no-cors', credentials: 'include', body: ${JSON.stringify(JSON.stringify(body))} })`,
      )
    expect((await get('/api/audit')).body.items).toHaveLength(before)
    expect((await get('/api/runs')).body.items).toEqual([])
    const { items } = (await get('/api/requests')).body as { items: { status: string }[] }
    expect(items.filter(({ status }) => status !== 'rejected')).toEqual([])
  })

  it('cannot open a WebSocket, even with the credential', async () => {
    const { url } = gateway()
    const { page } = await visit(await startSite())
    const socket = `${url.replace('http', 'ws')}/ws`
    expect(await page.evaluate(answerOf(socket, auth(gatewayToken)))).toBe('closed')
    const { page: own } = await visit(`${url}/`)
    expect(await own.evaluate(answerOf(socket, auth(gatewayToken)))).toContain('"result"')
  })
})

describe('a site whose name leads to this machine (DNS rebinding)', () => {
  const { visit } = shareBrowser({ args: ['--host-resolver-rules=MAP rebound.example 127.0.0.1'] })
  const gateway = share(() =>
    startGateway({ gateway: { port: 0, auth: { token: gatewayToken, rateLimit: { maxAttempts: 3 } } } }),
  )

  it('gets no data, has no credential, and is locked out after a few attempts although it is local', async () => {
    const { url, get } = gateway()
    const rebound = url.replace('127.0.0.1', 'rebound.example')
    const { page } = await visit(`${rebound}/`)
    await page.getByLabel('Gateway credential').waitFor()
    expect(await page.evaluate('sessionStorage.length + localStorage.length + document.cookie.length')).toBe(0)
    expect(await outcomeOf(page, textOf('api/runs'))).toMatch(/^401/)
    const socket = `${rebound.replace('http', 'ws')}/ws`
    expect(await page.evaluate(answerOf(socket, auth('guess')))).toContain('unauthorized')
    for (const guess of ['one', 'two', 'three'])
      await outcomeOf(page, textOf('api/runs', `{ headers: { authorization: 'Bearer ${guess}' } }`))
    // Even the right credential does not help any more.
    const right = `{ headers: { authorization: 'Bearer ${gatewayToken}' } }`
    expect(await outcomeOf(page, textOf('api/runs', right))).toMatch(/^429/)
    expect(await page.evaluate(answerOf(socket, auth(gatewayToken)))).not.toContain('"result"')
    expect((await get('/api/runs')).status).toBe(200)
  })
})

describe('the credential', () => {
  const { open, visit } = sharePages()

  it('is in no address, no cookie and no storage that outlives the tab, whatever the reader does', async () => {
    const { url, post } = await startGateway()
    await post('/hooks/agent', { message: 'Say hello.', deliver: false }, { prefer: 'wait=20' })
    const { page, asked } = await open(url, '#/home')
    for (const [letter, title] of [
      ['r', 'Requests'],
      ['u', 'Runs'],
      ['t', 'Tools'],
      ['w', 'Mapping workbench'],
      ['p', 'Panels'],
    ] as const) {
      await page.keyboard.press('g')
      await page.keyboard.press(letter)
      await page.getByRole('heading', { name: title, exact: true }).waitFor()
    }
    await page.getByRole('link', { name: 'Workspaces' }).click()
    await page.frameLocator('iframe').getByText('This folder is empty.').waitFor()
    await page.getByRole('button', { name: 'Use dark colors' }).click()
    expect(asked.filter((address) => address.includes(gatewayToken))).toEqual([])
    expect(page.url()).not.toContain(gatewayToken)
    expect(await page.context().cookies()).toEqual([])
    const kept = await page.evaluate<object>(`(async () => ({
      local: JSON.stringify(localStorage),
      databases: await indexedDB.databases(),
      caches: await caches.keys(),
      workers: (await navigator.serviceWorker.getRegistrations()).length,
      name: window.name,
      state: history.state,
    }))()`)
    expect(kept).toEqual({
      local: '{"svc-gateway theme":"dark"}',
      databases: [],
      caches: [],
      workers: 0,
      name: '',
      state: null,
    })
    // Nor is it in what the document shows, or in the frame of a panel.
    for (const frame of page.frames())
      expect(await frame.evaluate<string>('document.documentElement.outerHTML')).not.toContain(gatewayToken)
    await page.close()
    const { page: later } = await visit(`${url}/`)
    await later.getByLabel('Gateway credential').waitFor()
  })
})
