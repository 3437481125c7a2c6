// Tests that common tasks take few steps on the page alone: each within a minute at the pace of a reader.
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { newRequest } from '../contracts/store-samples.ts'
import { startChat } from '../doubles/chat.ts'
import { startModel } from '../doubles/model.ts'
import { openWhatsapp } from '../doubles/whatsapp.ts'
import { onFile } from '../engine.ts'
import { hookToken, startGateway, temporaryFolder } from '../helpers.ts'
import { openStore } from '../store/open-store.ts'
import { sharePages } from './open-page.ts'
import { startPricedHooks } from './priced-hooks.ts'

const agents = { defaults: { heartbeat: { every: 0 } }, main: {} }
const dayMs = 24 * 3_600_000

/** How many seconds a reader takes to find and press something, to read what it led to, and to type a letter. */
const pace = { press: 2, read: 4, letter: 0.3 }

/** Uses the page as a reader does, and counts the steps. */
function createReader(page: Page) {
  let [presses, letters, reads] = [0, 0, 0]
  return {
    press: async (target: Locator): Promise<void> => {
      presses++
      await target.click()
    },
    choose: async (target: Locator, option: string): Promise<void> => {
      presses += 2
      await target.selectOption(option)
    },
    /** Replaces what a field holds. */
    type: async (target: Locator, text: string, typed = text): Promise<void> => {
      presses++
      letters += typed.length
      await target.fill(text)
    },
    read: async (target: Locator): Promise<void> => {
      reads++
      await target.first().waitFor()
    },
    row: (name: RegExp): Locator => page.getByRole('main').getByRole('link', { name }).first(),
    view: (title: string): Locator =>
      page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: title, exact: true }),
    button: (name: string): Locator => page.getByRole('button', { name, exact: true }),
    /** The presses that it took. Fails if the task takes longer than a minute. */
    presses: (): number => {
      expect(presses * pace.press + reads * pace.read + letters * pace.letter).toBeLessThan(60)
      return presses
    },
  }
}

describe('with the page alone, a reader', () => {
  const { open } = sharePages()

  it("finds out why yesterday's alert was rejected, and replays it edited", async () => {
    const dir = temporaryFolder()
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const store = await openStore({ url: 'sqlite:state/gateway.db', dir, log })
    await store.recordRefusal(
      {
        ...newRequest({ hook: 'alerts', body: '{"host": "db1"}' }),
        status: 'rejected',
        error: { type: 'invalid_request', message: 'text is required.' },
      },
      Date.now() - dayMs,
    )
    await store.close()
    const mappings = [{ id: 'alerts', match: { path: 'alerts' }, messageTemplate: '{{text}}', deliver: false }]
    const { url } = await startGateway({ ...onFile, agents, hooks: { enabled: true, token: hookToken, mappings } }, dir)
    const { page } = await open(url)
    const reader = createReader(page)
    await reader.press(reader.view('Requests'))
    await reader.choose(page.getByLabel('Status', { exact: true }), 'rejected')
    await reader.press(reader.row(/rejected alerts text is required\. 1 d ago/))
    await reader.read(page.getByRole('alert').getByText('text is required.'))
    await reader.press(reader.button('Edit and replay'))
    await reader.type(
      page.getByRole('textbox', { name: 'Body' }),
      '{"host": "db1", "text": "The disk is full."}',
      ', "text": "The disk is full."',
    )
    await reader.press(page.getByRole('dialog').getByRole('button', { name: 'Replay' }))
    await reader.read(page.getByRole('group', { name: 'Message' }).getByText('The disk is full.'))
    expect(reader.presses()).toBe(7)
  })

  it('approves a sender', async () => {
    const dir = temporaryFolder()
    const chat = await startChat()
    const { plugins, channels } = chat.config(dir, { 'chat-native': { dmPolicy: 'pairing' } })
    const { url } = await startGateway({ agents, plugins, channels }, dir)
    await chat.say({ from: { id: 'ann', name: 'Ann' } })
    const { page } = await open(url)
    const reader = createReader(page)
    await reader.press(reader.row(/^Ann asks to write to the agent/))
    await reader.press(reader.button('Approve Ann'))
    await reader.read(page.getByRole('list', { name: 'Approved senders' }).getByText('Ann'))
    expect(reader.presses()).toBe(2)
    expect(await chat.say({ from: { id: 'ann' } })).toBe('accepted')
  })

  it('stops a run', async () => {
    const model = await startModel()
    model.script({ hang: true })
    const { url, post, get } = await startGateway({
      agents: { ...agents, main: { model: 'double/m' } },
      providers: model.providers,
    })
    const { runId } = (await post('/hooks/agent', { message: 'Think.', deliver: false, wakeMode: 'next-heartbeat' }))
      .body
    await model.request(0)
    const { page } = await open(url)
    const reader = createReader(page)
    await reader.press(page.getByRole('definition').getByRole('link').filter({ hasText: '1' }))
    await reader.press(reader.row(/^running/))
    await reader.press(reader.button('Cancel'))
    await reader.press(reader.button('Cancel the run'))
    await reader.read(page.getByText('The run is cancelled.'))
    expect(reader.presses()).toBe(4)
    await expect.poll(async () => (await get(`/runs/${runId}`)).body.status).toBe('cancelled')
  })

  it('finds the most expensive hook', async () => {
    const { url } = await startPricedHooks()
    const { page } = await open(url)
    const reader = createReader(page)
    // Home shows the last hour.
    await reader.read(page.getByRole('region', { name: 'By hook and origin' }).getByRole('row', { name: /^hook dear/ }))
    await reader.press(reader.view('Usage'))
    await reader.choose(page.getByLabel('Sums'), 'hook')
    await reader.read(page.getByRole('row', { name: /^dear/ }))
    expect(await page.getByRole('region', { name: 'Usage by hook' }).getByRole('row').nth(1).textContent()).toContain(
      'dear',
    )
    expect(reader.presses()).toBe(3)
  })

  it('writes a mapping for a payload that just came in', async () => {
    const { url, post } = await startGateway({ agents, hooks: { enabled: true, token: hookToken, mappings: [] } })
    await post('/hooks/alerts', { host: 'db1', text: 'The disk is full.' })
    const { page } = await open(url)
    const reader = createReader(page)
    await reader.press(reader.view('Requests'))
    await reader.press(reader.row(/rejected alerts/))
    await reader.press(page.getByRole('link', { name: 'Write a mapping' }))
    await reader.type(page.getByLabel('Message'), '{{host}}: {{text}}')
    await reader.read(page.getByRole('group', { name: 'Message of the agent' }).getByText('db1: The disk is full.'))
    await reader.press(page.getByRole('button', { name: 'Copy mapping' }))
    expect(reader.presses()).toBe(5)
  })

  it('links WhatsApp', async () => {
    const server = await openWhatsapp()
    onTestFinished(() => server.close())
    const { url, get } = await startGateway({ agents, channels: { whatsapp: { ...server.config, allowFrom: ['*'] } } })
    const { page } = await open(url)
    const reader = createReader(page)
    await reader.press(reader.row(/^The channel whatsapp needs a login/))
    await reader.press(reader.button('Log in to whatsapp'))
    await reader.read(page.getByRole('img', { name: 'QR code' }))
    // The phone scans it.
    server.scan((await get('/api/channels/whatsapp/login')).body.qr)
    await reader.read(page.getByText('The account is linked.'))
    await reader.press(reader.button('Done'))
    await reader.read(page.getByRole('listitem').filter({ hasText: 'whatsapp' }).getByText('connected'))
    expect(reader.presses()).toBe(3)
  })
})
