// Tests that each role sees only the views and the buttons that it may use, in a real browser.
import type { Page } from 'playwright-core'
import { describe, expect, it, vi } from 'vitest'
import { gatewayToken, hookToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const clients = [
  { name: 'vera', role: 'viewer', content: true },
  { name: 'dora', role: 'viewer' },
  { name: 'otto', role: 'operator' },
  { name: 'olga', role: 'operator', agents: ['ops'] },
  { name: 'anna', role: 'admin' },
].map((client) => Object.assign(client, { token: `token-of-${client.name}-0123456789-0123456789` }))

const everything = [
  'Home',
  'Requests',
  'Runs',
  'Sessions',
  'Tools',
  'Approvals',
  'Schedules',
  'Channels',
  'Outbox',
  'Hooks',
  'Workbench',
  'Usage',
  'Audit',
  'Log',
  'Configuration',
]
const ofAgents = ['Home', 'Requests', 'Runs', 'Sessions', 'Tools', 'Approvals', 'Schedules', 'Outbox', 'Usage', 'Audit']
/** The views that each client sees. */
const seen: Readonly<Record<string, readonly string[]>> = {
  vera: everything.filter((title) => !['Workbench', 'Configuration'].includes(title)),
  dora: everything.filter((title) => !['Workbench', 'Configuration', 'Log'].includes(title)),
  otto: everything.filter((title) => title !== 'Configuration'),
  olga: ofAgents,
  anna: everything,
}

async function start() {
  const gateway = await startGateway({
    gateway: { auth: { token: gatewayToken, clients } },
    agents: { defaults: { heartbeat: { every: 0 } }, main: {}, ops: {} },
    channels: { console: { defaultTo: 'console', file: 'console.jsonl' } },
    tools: { byOrigin: { hook: { ask: ['agents_list'] } } },
    hooks: { enabled: true, token: hookToken, presets: ['github'], github: { auth: { secret: 'a secret of github' } } },
  })
  const quiet = { agentId: 'ops', deliver: false, wakeMode: 'next-heartbeat' }
  const run = async (message: string, prefer: string) =>
    (await gateway.post('/hooks/agent', { message, ...quiet }, { prefer })).body as {
      runId: string
      sessionKey: string
    }
  const { runId, sessionKey } = await run('Say hello.', 'wait=20')
  const { runId: waitingId } = await run('/tool agents_list {}', 'respond-async')
  const approvalId = await vi.waitUntil(
    async () => (await gateway.get('/api/approvals?status=waiting')).body.items[0]?.id as string | undefined,
    { timeout: 30_000 },
  )
  const [{ id: requestId }] = (await gateway.get('/api/requests')).body.items
  return { ...gateway, runId, sessionKey, waitingId, requestId: requestId as string, approvalId }
}

const placeOf = (title: string): string => (title === 'Configuration' ? 'config' : title.toLowerCase())

const titles = async (page: Page): Promise<string[]> =>
  await page.getByRole('navigation', { name: 'Views' }).locator('a.nav:not([href^="#/panels"])').allTextContents()

const { open } = sharePages()
const gateway = share(start)

/** Returns whether all requests of a page have ended. */
function countRequests(page: Page): () => boolean {
  const open = new Set<object>()
  page.on('request', (request) => void open.add(request))
  for (const end of ['requestfinished', 'requestfailed'] as const)
    page.on(end as 'requestfinished', (request) => void open.delete(request))
  return () => open.size === 0
}

describe.each(clients)('the page of the client $name', ({ name, role, token, content, agents }) => {
  const mayOperate = role !== 'viewer'
  const mayRead = content ?? mayOperate

  it('has only the views that it may use, and none of them is refused anything', async () => {
    const { url, requestId, runId, approvalId } = gateway()
    const { page, complaints } = await open(url, '', { tabStorage: { 'svc-gateway credential /': token } })
    const refused: string[] = []
    page.on('response', (response) => void (response.status() === 403 && refused.push(response.url())))
    const isIdle = countRequests(page)
    expect((await titles(page)).toSorted()).toEqual(seen[name]?.toSorted())
    await page
      .getByRole('navigation')
      .getByText(`${name}, ${role}${agents ? ' of ops' : ''}`)
      .waitFor()
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await expectAccessible(page)
    const details = [
      `requests/${requestId}`,
      `runs/${runId}`,
      `approvals/${approvalId}`,
      'sessions/main',
      `sessions/${encodeURIComponent('agent:ops:main')}`,
      ...(agents ? [] : ['hooks/github', 'tools?tab=policy']),
    ]
    const places = [...(seen[name] ?? []).map(placeOf), ...details]
    for (const place of places) {
      await page.goto(`${url}/#/${place}`)
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0)
      await expect.poll(isIdle).toBe(true)
      expect([place, refused, await page.getByText(/The client "/).allTextContents()]).toEqual([place, [], []])
    }
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
  })

  it('says that another view is not included, and its shortcut does nothing', async () => {
    const { url } = gateway()
    const { page } = await open(url, '', { tabStorage: { 'svc-gateway credential /': token } })
    const hidden = everything.filter((title) => !seen[name]?.includes(title))
    for (const title of hidden) {
      await page.goto(`${url}/#/${placeOf(title)}`)
      await page.getByRole('heading', { name: /your role does not include it/ }).waitFor()
    }
    await page.goto(`${url}/#/runs`)
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
    await page.keyboard.press('?')
    const shortcuts = await page.getByRole('dialog', { name: 'Shortcuts' }).getByRole('definition').allTextContents()
    expect(hidden.filter((title) => shortcuts.includes(`Go to ${title}`))).toEqual([])
  })

  it('has only the buttons that it may use', async () => {
    const { url, requestId, sessionKey, waitingId, approvalId } = gateway()
    const { page } = await open(url, `#/requests/${requestId}`, { tabStorage: { 'svc-gateway credential /': token } })
    const isIdle = countRequests(page)
    const main = page.getByRole('main')
    const buttons = async (wanted: RegExp): Promise<number> => await main.getByRole('button', { name: wanted }).count()
    const go = async (place: string, heading: RegExp): Promise<void> => {
      await page.goto(`${url}/#/${place}`)
      await main.getByRole('heading', { name: heading, level: 1 }).first().waitFor()
      await expect.poll(isIdle).toBe(true)
    }
    await go(`requests/${requestId}`, /^agent$/)
    expect(await buttons(/^Replay$/)).toBe(mayOperate ? 1 : 0)
    expect(await buttons(/^Edit and replay$/)).toBe(mayOperate && mayRead ? 1 : 0)
    expect(await buttons(/^Copy as curl$/)).toBe(mayRead ? 1 : 0)
    await go(`runs/${waitingId}`, /^hook agent$/)
    expect(await buttons(/^Cancel$/)).toBe(mayOperate ? 1 : 0)
    await go(`approvals/${approvalId}`, /^agents_list$/)
    expect(await buttons(/^(Approve|Deny)$/)).toBe(mayOperate && mayRead ? 2 : 0)
    await go('sessions', /^Sessions$/)
    expect(await buttons(/^Chat$/)).toBe(mayOperate ? 1 : 0)
    await go(`sessions/${encodeURIComponent(sessionKey)}`, mayRead ? /^agent:ops:hook:/ : /^agent:ops:s\./)
    expect(await buttons(/^Delete$/)).toBe(role === 'admin' ? 1 : 0)
    await go('tools', /^Tools$/)
    await main.getByRole('link', { name: /^session_status/ }).click()
    await main.getByRole('heading', { name: 'session_status' }).waitFor()
    expect(await buttons(/^Run the tool$/)).toBe(mayOperate ? 1 : 0)
    if (agents) return
    await go('hooks/github', /^github$/)
    await main.getByRole('list', { name: 'Samples' }).waitFor()
    expect((await buttons(/^Send /)) > 0).toBe(mayOperate)
  })
})
