// Tests the frame of the control page in a real browser: signing in, the live connection, the keyboard, the colors.
import { once } from 'node:events'
import { type ClientRequest, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { gatewayToken, shareGateway, startGateway } from '../helpers.ts'
import { createDatabase, query } from '../postgres.ts'
import { expectAccessible, sharePages, signedIn } from './open-page.ts'

describe('the control page', () => {
  const { open, visit } = sharePages()
  const gateway = shareGateway()
  const url = async (): Promise<string> => (await gateway.send('/')).url.replace(/\/$/, '')

  it('asks for the credential, refuses a wrong one, and keeps the right one for the tab only', async () => {
    const { page, asked } = await visit(await url())
    await page.getByLabel('Gateway credential').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This is not a credential of the gateway.').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Gateway credential').fill(gatewayToken)
    await page.keyboard.press('Enter')
    await page.getByRole('navigation', { name: 'Views' }).waitFor()
    await page.reload()
    await page.getByRole('navigation', { name: 'Views' }).waitFor()
    expect(await page.context().cookies()).toEqual([])
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(gatewayToken)
    expect(asked.filter((address) => address.includes(gatewayToken))).toEqual([])
    const other = await page.context().newPage()
    await other.goto(await url())
    await other.getByLabel('Gateway credential').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Gateway credential').waitFor()
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain(gatewayToken)
  })

  it('signs in with a link that the gateway prints, which works once and leaves no trace in the address', async () => {
    const { url, gateway } = await startGateway()
    const link = url + gateway.issuePageLink()
    const { page, complaints, asked } = await visit(link)
    await page.getByRole('navigation', { name: 'Views' }).waitFor()
    expect(page.url()).toBe(`${url}/`)
    expect(asked.filter((address) => address.includes('code='))).toEqual([])
    expect(complaints).toEqual([])
    const { page: later } = await visit(link)
    await later.getByText('The link was used already, or is older than five minutes.').waitFor()
    expect(await later.getByLabel('Gateway credential').isVisible()).toBe(true)
  })

  it('returns to the sign-in when the gateway no longer accepts the credential', async () => {
    const old = { ...signedIn, 'svc-gateway credential /': 'an old credential' }
    const { page } = await visit(await url(), { tabStorage: old })
    await page.getByText('The gateway no longer accepts the credential of this tab.').waitFor()
    expect(await page.getByLabel('Gateway credential').isVisible()).toBe(true)
  })

  it('sends changes to a view that was opened while the page was connecting', async () => {
    const { url, post } = await startGateway()
    const { page, complaints } = await open(url, '#/tools')
    const [subscribed, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.routeWebSocket('**/ws', (socket) => {
      socket.connectToServer().onMessage(async (message) => {
        // The second reply is that of the subscription.
        if (String(message).includes('"id":2')) {
          subscribed.resolve()
          await released.promise
        }
        socket.send(message)
      })
    })
    await page.reload()
    await subscribed.promise
    await page.goto(`${url}/#/requests`)
    await page.getByText('No requests yet').waitFor()
    released.resolve()
    await page.getByRole('status').filter({ hasText: 'Live' }).first().waitFor({ state: 'attached' })
    await page.waitForLoadState('networkidle')
    await post('/hooks/wake', { text: 'hi', mode: 'next-heartbeat' })
    await page.getByRole('link', { name: /^accepted wake/ }).waitFor()
    expect(complaints).toEqual([])
  })

  it('says when it is stale, and comes back by itself with what happened meanwhile', async () => {
    const first = await startGateway()
    const { page } = await open(first.url, '#/requests')
    await page.getByText('No requests yet').waitFor()
    const port = Number(new URL(first.url).port)
    await first.gateway.close()
    await page.getByText(/Not connected since .* The page reconnects by itself\./).waitFor()
    await expectAccessible(page)
    const second = await startGateway({ gateway: { port } }, first.dir)
    await second.post('/hooks/agent', { message: 'Say hello.' })
    await page.getByRole('link', { name: /accepted agent 1 run/ }).waitFor()
    await page.getByText('Not connected since').waitFor({ state: 'detached' })
    expect(await page.getByRole('status').filter({ hasText: 'Live' }).count()).toBeGreaterThan(0)
  })

  it('reads again what it shows when its gateway may have missed changes of another one', async () => {
    const database = await createDatabase(inject('postgresUrl'))
    onTestFinished(database.remove)
    const storage = { url: database.url }
    const shown = await startGateway({ storage })
    const [connection] = await query(database.url, messageConnectionSql)
    const other = await startGateway({ storage })
    await expect.poll(async () => (await shown.get('/api/gateways')).body.items).toHaveLength(1)
    const { page, complaints } = await open(shown.url, '#/requests')
    await page.getByText('No requests yet').waitFor()
    await page.waitForLoadState('networkidle')
    await query(database.url, 'SELECT pg_terminate_backend($1, 5000)', [connection?.['pid']])
    // The other gateway says so to nobody, because the connection for messages is opened again after a second.
    await other.post('/hooks/wake', { text: 'hi', mode: 'next-heartbeat' })
    await page.getByRole('link', { name: /^accepted wake/ }).waitFor()
    expect(await page.getByText('Not connected since').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('works with the keyboard alone', async () => {
    const { page } = await open(await url(), '#/requests')
    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog', { name: 'Shortcuts' })
    await dialog.getByText('Go to Requests').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    await page.keyboard.type('g r ?')
    expect(await page.getByLabel('Search in bodies').inputValue()).toBe('g r ?')
    await page.goto(`${await url()}/#/nothing`)
    await page.getByText('There is no such view').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    expect(new URL(page.url()).hash).toBe('#/requests')
  })

  it('has light and dark colors, those of the system until the reader chooses', async () => {
    const { page } = await open(await url(), '', { colorScheme: 'dark' })
    const background = (): Promise<string> => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const dark = await background()
    await page.getByRole('button', { name: 'Use light colors' }).click()
    const light = await background()
    expect(light).not.toBe(dark)
    await page.reload()
    await page.getByRole('button', { name: 'Use dark colors' }).waitFor()
    expect(await background()).toBe(light)
  })

  it('works behind a proxy that adds a path', async () => {
    const proxy = await startProxy(await url(), '/gateway')
    const { page, asked, complaints } = await visit(`${proxy}/gateway/`)
    await page.getByLabel('Gateway credential').fill(gatewayToken)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
    expect(asked.filter((address) => !address.startsWith(`${proxy}/gateway/`))).toEqual([])
    expect(complaints).toEqual([])
  })
})

// A browser that closes a tab may reset its connections.
const ignoreReset = (): void => undefined

/** Starts a reverse proxy that removes a path, and keeps the Host header. */
async function startProxy(target: string, path: string): Promise<string> {
  const { hostname, port } = new URL(target)
  const forward = ({ method, url = '', headers }: IncomingMessage): ClientRequest =>
    request({ hostname, port, method, path: url.slice(path.length), headers }).on('error', ignoreReset)
  const server = createServer((incoming, response) => {
    const outgoing = forward(incoming).on('response', (answer) => {
      // The browser may have closed the tab meanwhile.
      if (response.destroyed) {
        answer.destroy()
        return
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      pipeline(answer, response, ignoreReset)
    })
    pipeline(incoming, outgoing, ignoreReset)
  })
  server.on('upgrade', (incoming: IncomingMessage, socket: Socket) => {
    socket.on('error', ignoreReset)
    forward(incoming)
      .on('upgrade', (answer, upstream) => {
        const headers = Object.entries(answer.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`)
        upstream.on('error', ignoreReset)
        if (socket.destroyed) {
          upstream.destroy()
          return
        }
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers.join('')}\r\n`)
        pipeline(upstream, socket, upstream, ignoreReset)
      })
      .end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const messageConnectionSql = `
  SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND (query LIKE 'LISTEN %' OR query LIKE 'SELECT pg_notify%')`
