// Tests the view of the audit log in a real browser: new entries, filters in the address, and the detail of one.
import { describe, expect, it } from 'vitest'
import { gatewayToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const viewer = { name: 'eve', role: 'viewer', token: 'token-of-the-viewer-0123456789' }
const own = { authorization: `Bearer ${gatewayToken}` }
const hostile = `<img src=x onerror="globalThis.hasRun=1">${'W'.repeat(100)}`

async function start() {
  const gateway = await startGateway({ gateway: { auth: { token: gatewayToken, clients: [viewer] } } })
  const body = { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat' }
  const { runId } = (await gateway.post('/hooks/agent', body, { prefer: 'wait=20' })).body
  /** An entry that is refused, and one that is done. */
  await gateway.post(`/api/runs/${runId}/cancel`, {}, { authorization: `Bearer ${viewer.token}` })
  const replay = async () => {
    const [{ id }] = (await gateway.get('/api/requests')).body.items
    await gateway.post(`/api/requests/${id}/replay`, {}, own)
    return id as string
  }
  return { ...gateway, runId: runId as string, replay }
}

describe('the view of the audit log', () => {
  const { open } = sharePages()
  const shared = share(start)

  it('says what it is for while it is empty', async () => {
    const { url } = await startGateway()
    const { page } = await open(url, '#/audit')
    await page.getByRole('heading', { name: 'No entries yet' }).waitFor()
    await expectAccessible(page)
  })

  it('lists who did what, what is new at the top, and the detail of an entry with the keyboard', async () => {
    const { url, runId, replay } = shared()
    const { page, complaints } = await open(url, '#/audit')
    const list = page.getByRole('list', { name: 'Entries' })
    await list.getByRole('link', { name: /^refused eve run\.cancel/ }).waitFor()
    const requestId = await replay()
    await list
      .getByRole('link', { name: /^done gateway request\.replay/ })
      .first()
      .waitFor()
    // The first one goes to the list, wherever the focus is.
    for (const key of ['j', 'j', 'k']) await page.keyboard.press(key)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'request.replay' }).waitFor()
    expect(await page.getByRole('link', { name: requestId, exact: true }).getAttribute('href')).toContain('#/requests/')
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await list.getByRole('link', { name: /^refused eve/ }).click()
    await page.getByText('forbidden', { exact: true }).waitFor()
    expect(await page.getByRole('link', { name: runId, exact: true }).getAttribute('href')).toBe(`#/runs/${runId}`)
    expect(complaints).toEqual([])
  })

  it('filters by each of its fields, in the address', async () => {
    const { url, replay, runId } = shared()
    await replay()
    const { page, complaints } = await open(url, '#/audit?outcome=refused')
    const list = page.getByRole('list', { name: 'Entries' })
    await list.getByRole('link', { name: /^refused eve/ }).waitFor()
    expect(await list.getByRole('link').count()).toBe(1)
    await page.getByLabel('Outcome').selectOption('')
    await page.getByRole('searchbox', { name: 'Who' }).fill('gateway')
    await list
      .getByRole('link', { name: /^done gateway request\.replay/ })
      .first()
      .waitFor()
    await list.getByRole('link', { name: /^refused eve/ }).waitFor({ state: 'detached' })
    await page.getByLabel('Time').selectOption('1h')
    await page.getByRole('searchbox', { name: 'Action' }).fill('nothing')
    await page.getByRole('heading', { name: 'No entry matches the filters' }).waitFor()
    expect(new URL(page.url()).hash).toBe('#/audit?actor=gateway&since=1h&action=nothing')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Show all entries' }).click()
    await page.getByRole('searchbox', { name: 'Record' }).fill(runId)
    await list
      .getByRole('link', { name: /^done gateway/ })
      .first()
      .waitFor({ state: 'detached' })
    await list.getByRole('link', { name: /^refused eve/ }).waitFor()
    await page.getByRole('searchbox', { name: 'Agent' }).fill('nobody')
    await page.getByRole('heading', { name: 'No entry matches the filters' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('shows hostile text as text, in a narrow window too', async () => {
    const { url, post } = shared()
    await post('/api/pairings/revoke', { channel: 'console', sender: hostile }, own)
    await post(`/api/runs/${encodeURIComponent(hostile)}/cancel`, {}, own)
    const { page, complaints } = await open(url, '#/audit', { viewport: { width: 360, height: 740 } })
    const row = page.getByRole('link').filter({ hasText: '<img src=x' }).first()
    await row.click()
    await page.getByRole('link', { name: hostile }).first().waitFor()
    expect(await page.evaluate<boolean>(`'hasRun' in globalThis`)).toBe(false)
    expect(await page.locator('#page img').count()).toBe(0)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })
})
