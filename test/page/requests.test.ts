// Tests the view of requests in a real browser, as a reader uses it.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { hookToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const mappings = [
  {
    id: 'deploys',
    match: { path: 'deploys' },
    action: 'agent',
    messageTemplate: 'Deploy of {{service}} to {{env}}.',
    deliver: false,
  },
  ...[
    ['critical', 'critical'],
    ['alerts', 'info'],
    ['also', 'info'],
  ].map(([id, level]) => ({
    id,
    match: { path: 'alerts', payload: { level } },
    messageTemplate: 'Look at {{host}}.',
    deliver: false,
    wakeMode: 'next-heartbeat',
  })),
]

describe('the view of requests', () => {
  const { open } = sharePages()
  const gateway = share(() => startGateway({ hooks: { enabled: true, token: hookToken, mappings } }))

  it('lists requests as they arrive, with the reason of those that were rejected', async () => {
    const { url, post } = gateway()
    const { page, complaints } = await open(url, '#/requests')
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    await post('/hooks/deploys', { service: 'shop', env: 'test' })
    await post('/hooks/agent', { wrong: true })
    await page
      .getByRole('link', { name: /accepted deploys 1 run/ })
      .first()
      .waitFor()
    await page
      .getByRole('link', { name: /rejected agent message is required\./ })
      .first()
      .waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  it('keeps the filters in the address and applies them to live updates', async () => {
    const { url, post } = gateway()
    await post('/hooks/agent', { wrong: true })
    const { page } = await open(url, '#/requests')
    await page.getByLabel('Status', { exact: true }).selectOption('rejected')
    await page.getByLabel('Hook').selectOption('agent')
    await expect.poll(() => new URL(page.url()).hash).toBe('#/requests?status=rejected&hook=agent')
    await page
      .getByRole('link', { name: /rejected agent/ })
      .first()
      .waitFor()
    expect(await page.getByRole('link', { name: /accepted/ }).count()).toBe(0)
    await page.reload()
    const rejected = page.getByRole('link', { name: /rejected agent/ })
    await rejected.first().waitFor()
    const count = await rejected.count()
    await post('/hooks/agent', { message: 'Say hello.' })
    await post('/hooks/agent', { wrong: 'again' })
    await expect.poll(() => rejected.count()).toBe(count + 1)
    expect(await page.getByRole('link', { name: /accepted/ }).count()).toBe(0)
  })

  it('finds requests by the text of their bodies', async () => {
    const { url, post } = gateway()
    await post('/hooks/deploys', { service: 'needle-in-the-hay', env: 'test' })
    const { page } = await open(url, '#/requests')
    const links = page.getByRole('list', { name: 'Requests' }).getByRole('link')
    // The shortcuts are known when the list is shown.
    await links.first().waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('NEEDLE-in ')
    await expect.poll(() => links.count()).toBe(1)
    const search = page.getByLabel('Search in bodies')
    await page.keyboard.type('nothing')
    expect(await search.inputValue()).toBe('NEEDLE-in nothing')
    await search.fill('nothing like this')
    await page.getByText('No request matches the filters').waitFor()
    await page.getByRole('button', { name: 'Show all requests' }).click()
    await page
      .getByRole('link', { name: /accepted deploys/ })
      .first()
      .waitFor()
    expect(new URL(page.url()).hash).toBe('#/requests')
  })

  it('shows the detail: what the agent reads, the run, the body as a tree that folds and is searched, the headers', async () => {
    const { url, post } = gateway()
    await post('/hooks/deploys', { service: 'shop', env: 'production', deep: { er: { still: { hidden: 'a pearl' } } } })
    const { page, complaints } = await open(url, '#/requests?hook=deploys')
    await page.keyboard.press('Tab')
    await page.getByRole('list', { name: 'Requests' }).getByRole('link').first().focus()
    await page.keyboard.press('Enter')
    await page.getByRole('group', { name: 'Message' }).getByText('Deploy of shop to production.').waitFor()
    await page.getByRole('link', { name: /succeeded Received/ }).waitFor()
    const body = page.getByRole('group', { name: 'Body' })
    expect(await body.getByText('a pearl').count()).toBe(0)
    await page.getByLabel('Search in body').fill('PEARL')
    expect(await body.locator('mark').textContent()).toBe('pearl')
    await page.getByLabel('Search in body').fill('')
    await body.getByRole('button', { name: /^▾ {$/ }).first().click()
    await body.getByRole('button', { name: '▸ { 3 entries }' }).waitFor()
    expect(
      await page
        .getByRole('region', { name: 'Headers' })
        .getByRole('row', { name: 'authorization [redacted]' })
        .count(),
    ).toBe(1)
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    expect(new URL(page.url()).hash).toBe('#/requests?hook=deploys')
    expect(complaints).toEqual([])
  })

  it('says which mapping is used, and why the others are not', async () => {
    const { url, post, get } = gateway()
    await post('/hooks/alerts', { level: 'debug', host: 'db1' })
    await post('/hooks/alerts', { level: 'info', host: 'db1' })
    await expect.poll(async () => (await get('/api/requests?hook=alerts')).body.items.length).toBe(2)
    const { page } = await open(url, '#/requests?hook=alerts&status=accepted')
    await page.getByRole('link', { name: /accepted alerts/ }).click()
    const compared = page.getByRole('list', { name: 'Mappings' }).getByRole('listitem')
    await compared.first().waitFor()
    expect(await compared.allTextContents()).toEqual([
      'criticaldoes not match: match.payload["level"]',
      'alertsmatches first, so it is used',
      'alsois not reached, because alerts comes before it',
    ])
    await expectAccessible(page)
    await page.goto(`${url}/#/requests?hook=alerts&status=rejected`)
    await page.getByRole('link', { name: /rejected alerts/ }).click()
    await page.getByText('No mapping matches, so the hook would refuse the request.').waitFor()
  })

  it('replays a request, and shows the new one', async () => {
    const { url, post, get } = gateway()
    await post('/hooks/deploys', { service: 'replayed', env: 'test' })
    const [original] = (await get('/api/requests?limit=1')).body.items
    const { page } = await open(url, `#/requests/${original.id}`)
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await page.getByRole('status').getByRole('link', { name: 'Show it' }).click()
    await page.getByText('Replay of').waitFor()
    const [replayed] = (await get('/api/requests?limit=1')).body.items
    expect(replayed.replayOf).toBe(original.id)
    expect(new URL(page.url()).hash).toBe(`#/requests/${replayed.id}`)
  })

  it('edits a request: shows a dry run beside the first time, and replays the edited body', async () => {
    const { url, post, get } = gateway()
    await post('/hooks/deploys', { service: 'before', env: 'test' })
    const [{ id }] = (await get('/api/requests?limit=1')).body.items
    const { page } = await open(url, `#/requests/${id}`)
    await page.getByRole('button', { name: 'Edit and replay' }).click()
    const dialog = page.getByRole('dialog', { name: 'Edit and replay' })
    await dialog.getByLabel('Body').fill('{"service": ')
    await dialog.getByRole('button', { name: 'Dry run' }).click()
    await dialog.getByRole('alert').getByText('The body is not valid JSON.').waitFor()
    await dialog.getByLabel('Body').fill('{"service": "after", "env": "test"}')
    await dialog.getByRole('button', { name: 'Dry run' }).click()
    await dialog.getByRole('group', { name: 'Message now' }).getByText('Deploy of after to test.').waitFor()
    await dialog.getByRole('group', { name: 'First message' }).getByText('Deploy of before to test.').waitFor()
    await expectAccessible(page)
    expect((await get('/api/requests?limit=1')).body.items[0].id).toBe(id)
    await dialog.getByRole('button', { name: 'Replay' }).click()
    await page.getByRole('group', { name: 'Message', exact: true }).getByText('Deploy of after to test.').waitFor()
    expect((await get('/api/requests?limit=1')).body.items[0].replayOf).toBe(id)
  })

  it('copies a request as a curl command that sends it again', async () => {
    const { url, post, get } = gateway()
    await post('/hooks/deploys?from=a%20b', { service: "it's", env: 'test' })
    const [{ id }] = (await get('/api/requests?limit=1')).body.items
    const permissions = ['clipboard-read', 'clipboard-write']
    const { page } = await open(url, `#/requests/${id}`, { permissions })
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByText('Copied. The command reads the credential from $HOOK_TOKEN.').waitFor()
    const command = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(command).not.toContain(hookToken)
    await promisify(execFile)('sh', ['-c', command], { env: { ...process.env, HOOK_TOKEN: hookToken } })
    const [sent] = (await get('/api/requests?limit=1')).body.items
    expect(sent).toMatchObject({ hook: 'deploys', status: 'accepted' })
    expect(sent.id).not.toBe(id)
    const { body } = await get(`/api/requests/${sent.id}`)
    expect([body.query, JSON.parse(body.body)]).toEqual([{ from: 'a b' }, { service: "it's", env: 'test' }])
  })

  it('shows why a record is missing', async () => {
    const { page } = await open(gateway().url, '#/requests/nothing')
    await page.getByRole('heading', { name: 'The request could not be loaded' }).waitFor()
    await expectAccessible(page)
  })
})
