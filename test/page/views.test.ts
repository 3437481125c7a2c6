// Tests the other views of the page in a real browser, as a reader uses them.
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { gatewayToken, hookToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }
const phone = fileURLToPath(new URL('../fixtures/phone/phone.mjs', import.meta.url))

async function start() {
  const dir = temporaryFolder()
  const chat = await startChat()
  const { plugins, channels } = chat.config(dir, { 'chat-none': {}, 'chat-native': { dmPolicy: 'pairing' } })
  const gateway = await startGateway(
    {
      plugins: [...plugins, phone],
      channels: { ...channels, phone: { token: 'phone-token' } },
      agents: { defaults: { heartbeat: { every: 0 } }, main: {}, ops: { tools: { deny: ['read'] } } },
      hooks: {
        enabled: true,
        token: hookToken,
        presets: ['github'],
        github: { auth: { secret: 'a secret of github' } },
        mappings: [{ id: 'alerts', match: { path: 'alerts' }, messageTemplate: '{{text}}', deliver: false }],
      },
    },
    dir,
  )
  const operate = (path: string, body: object) => gateway.post(path, body, operator)
  return { ...gateway, chat, operate }
}

describe('the views of the page', () => {
  const { open } = sharePages()
  const gateway = share(start)

  it('home: says what needs the reader and what happened, and leads there', async () => {
    const { url, post } = gateway()
    await post('/hooks/alerts', { text: 'The disk is full.' }, { prefer: 'wait=20' })
    const { page, complaints } = await open(url)
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    await page.getByRole('img', { name: /^Requests per minute/ }).waitFor()
    await page.getByRole('cell', { name: 'hook alerts' }).waitFor()
    await page.getByRole('region', { name: 'The first five minutes' }).getByText('Connect a model').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: /The channel phone needs a login/ }).click()
    await page.getByRole('heading', { name: 'Channels' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('channels: approves a sender who asks, and withdraws it', async () => {
    const { url, chat, get } = gateway()
    const { page, complaints } = await open(url, '#/channels')
    await chat.say({ from: { id: 'ann' } })
    const waiting = page.getByRole('list', { name: 'Waiting for approval' })
    await waiting.getByText('ann').waitFor()
    await expectAccessible(page)
    await waiting.getByRole('button', { name: 'Approve' }).click()
    const approved = page.getByRole('list', { name: 'Approved senders' })
    await approved.getByText('ann').waitFor()
    expect((await get('/api/pairings')).body.items[0].status).toBe('approved')
    await approved.getByRole('button', { name: 'Withdraw' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
    await approved.waitFor({ state: 'detached' })
    expect((await get('/api/pairings')).body.items).toEqual([])
    expect(complaints).toEqual([])
  })

  it('channels: links an account with a QR code, and unlinks it', async () => {
    const { url } = gateway()
    const { page } = await open(url, '#/channels')
    const row = page.getByRole('list', { name: 'Accounts' }).getByRole('listitem').filter({ hasText: 'phone' })
    await row.getByRole('button', { name: 'Log in' }).click()
    const dialog = page.getByRole('dialog', { name: 'Log in to phone' })
    await dialog.getByRole('img', { name: 'QR code' }).waitFor()
    await dialog.getByText('The account is linked.').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await row.getByText('connected').waitFor()
    await row.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Log out' }).click()
    await row.getByRole('button', { name: 'Log in' }).waitFor()
    expect(await row.getByText('connected', { exact: true }).count()).toBe(0)
  })

  it('sessions: deletes one after a question, with what was said in it', async () => {
    const { url, post, get } = gateway()
    const { sessionKey: key } = (await post('/hooks/alerts', { text: 'Forget this.' }, { prefer: 'wait=20' })).body
    const statusOf = async () => (await get(`/api/sessions/${encodeURIComponent(key as string)}`)).status
    const { page, complaints } = await open(url, `#/sessions/${encodeURIComponent(key as string)}`)
    const main = page.getByRole('main')
    await main.getByRole('list', { name: 'Transcript' }).getByText('Forget this.').first().waitFor()
    await main.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog', { name: 'Delete the session?' })
    await dialog.waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Go back' }).click()
    expect(await statusOf()).toBe(200)
    await main.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete the session' }).click()
    await page.getByText('The session is deleted.').waitFor()
    await main.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
    expect(await statusOf()).toBe(404)
    expect(complaints).toEqual([])
  })

  it('outbox: shows why a message was not sent, and sends it again', async () => {
    const { url, chat, post } = gateway()
    chat.script({ answer: { outcome: 'failed', reason: 'permanent', detail: 'No such room.' } })
    const attempts = chat.attempts.length
    await post('/hooks/agent', { message: 'hi', channel: 'chat-none', to: 'room' }, { prefer: 'wait=20' })
    const { page, complaints } = await open(url, '#/outbox?status=failed')
    await page.getByRole('link', { name: /failed chat-none room .*No such room/ }).click()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('The delivery is sent again.').waitFor()
    await chat.attempted(attempts + 2)
    await page.getByText('No delivery matches the filters').waitFor()
    expect(complaints).toEqual([])
  })

  it('tools: runs one from a form, names the fields that are wrong, and shows the result', async () => {
    const { url } = gateway()
    const { page, complaints } = await open(url, '#/tools')
    await page.getByRole('link', { name: /^write/ }).click()
    await page.getByRole('button', { name: 'Run the tool' }).click()
    expect(await page.getByRole('alert').filter({ hasText: 'This field is required.' }).count()).toBe(2)
    await page.getByLabel('path (required)').fill('notes.md')
    await page.getByLabel('text (required)').fill('Remember the milk.')
    await page.getByRole('button', { name: 'Run the tool' }).click()
    await page.getByRole('region', { name: 'Result' }).waitFor()
    await expectAccessible(page)
    await page.goto(`${url}/#/tools/read`)
    await page.getByRole('button', { name: 'Write JSON' }).click()
    await page.getByLabel('Arguments as JSON').fill('{"path": "notes.md"}')
    await page.getByRole('button', { name: 'Run the tool' }).click()
    await page.getByRole('region', { name: 'Result' }).getByText('Remember the milk.').waitFor()
    expect(complaints).toEqual([])
  })

  it('tools: shows which agent may use which tool, and the layer that decided', async () => {
    const { url } = gateway()
    const { page, complaints } = await open(url, '#/tools?tab=policy')
    await page.getByRole('button', { name: 'read for main: allowed' }).waitFor()
    await page.getByRole('button', { name: 'exec for main: denied' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'read for ops: denied' }).click()
    const dialog = page.getByRole('dialog', { name: 'read for ops: denied' })
    await dialog.getByRole('row', { name: 'agent deny agents.ops.tools.deny: "read"' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByLabel('Caller').selectOption('http')
    await page.getByRole('button', { name: 'write for main: allowed' }).waitFor()
    for (const caller of ['heartbeat', 'chat']) {
      await page.getByLabel('Caller').selectOption(caller)
      await page.getByRole('button', { name: 'sessions_send for ops: allowed' }).waitFor()
    }
    expect(complaints).toEqual([])
  })

  it('schedules: shows what runs when', async () => {
    const { url, operate } = gateway()
    const args = {
      action: 'add',
      message: 'Count the sheep.',
      name: 'Sheep',
      every: '1h',
      channel: 'console',
      to: 'ops',
    }
    await operate('/tools/invoke', { tool: 'cron', args })
    const { page, complaints } = await open(url, '#/schedules')
    await page.getByRole('link', { name: /^Sheep every 1h main in/ }).click()
    await page.getByRole('group', { name: 'Message' }).getByText('Count the sheep.').waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  it('schedules: keeps the place of a reader while they run, and goes on to the end', async () => {
    const { url, post } = await startGateway({ agents: { defaults: { heartbeat: { every: 0 } } } })
    const cron = async (args: object) => (await post('/tools/invoke', { tool: 'cron', args }, operator)).body.result
    const add = { action: 'add', message: 'Hello', every: '1h', channel: 'console', to: 'ops' }
    for (let n = 0; n < 120; n++) await cron({ ...add, name: `Number ${n}` })
    const { page, complaints } = await open(url, '#/schedules')
    // The end of the first page of the list is out of sight.
    await page.setViewportSize({ width: 1000, height: 400 })
    await page.reload()
    const rows = page.getByRole('list', { name: 'Schedules' }).getByRole('link')
    await rows.nth(49).waitFor()
    await page.waitForLoadState('networkidle')
    const newest = (await cron({ action: 'list' })).items[0].id
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route(
      '**/api/schedules',
      async (route) => {
        asked.resolve()
        await held.promise
        await route.continue()
      },
      { times: 1 },
    )
    await cron({ action: 'run', id: newest })
    await asked.promise
    // The end of the list comes into sight while the list is loaded again.
    const shown = await rows.count()
    await rows.last().scrollIntoViewIfNeeded()
    held.resolve()
    await rows.nth(shown).waitFor({ state: 'attached' })
    await rows.nth(99).scrollIntoViewIfNeeded()
    await page.waitForLoadState('networkidle')
    const place = () =>
      page
        .locator('.scroll')
        .first()
        .evaluate(({ scrollTop }) => scrollTop)
    const before = await place()
    const lastPage = page.waitForResponse(/api\/schedules\?cursor=/)
    await cron({ action: 'run', id: newest })
    await lastPage
    await page.waitForLoadState('networkidle')
    expect(await place()).toBe(before)
    expect(complaints).toEqual([])
  })

  it('hooks: shows the mappings of each, their schemes, and when a secret was last used', async () => {
    const { url } = gateway()
    const { page, complaints } = await open(url, '#/hooks')
    await page.getByRole('link', { name: /^alerts alerts hook-token/ }).waitFor()
    await page.getByRole('link', { name: /^github github github/ }).click()
    await page.getByRole('row', { name: '1 never, as far as is known no end' }).waitFor()
    await page.getByRole('group', { name: 'Address' }).getByText(`${url}/hooks/github`).waitFor()
    await expectAccessible(page)
    await page.getByRole('main').getByRole('link', { name: 'Requests' }).click()
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    expect(new URL(page.url()).hash).toBe('#/requests?hook=github')
    expect(complaints).toEqual([])
  })

  it('log: shows lines as they are written, with filters', async () => {
    const { url, post } = gateway()
    const { page, complaints } = await open(url, '#/log')
    await page.getByText('Waiting for lines').waitFor()
    await expect
      .poll(async () => {
        await post('/hooks/agent', { wrong: true })
        return await page.getByRole('list', { name: 'Lines' }).count()
      })
      .toBe(1)
    const line = page.getByRole('listitem').filter({ hasText: 'request refused' }).first()
    await line.waitFor()
    await expectAccessible(page)
    await page.getByLabel('Level').selectOption('error')
    await line.waitFor({ state: 'detached' })
    expect(new URL(page.url()).hash).toBe('#/log?level=error')
    expect(complaints).toEqual([])
  })

  it('every view fits a width of 360 pixels', async () => {
    const { url } = gateway()
    const { page } = await open(url, '', { viewport: { width: 360, height: 740 } })
    for (const name of [
      'home',
      'requests',
      'runs',
      'sessions',
      'tools',
      'approvals',
      'schedules',
      'hooks',
      'workbench',
      'channels',
      'outbox',
      'usage',
      'audit',
      'config',
      'log',
    ]) {
      await page.goto(`${url}/#/${name}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      expect([name, overflow]).toEqual([name, 0])
    }
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
  })
})
