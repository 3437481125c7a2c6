// Tests the view of channels in a real browser: the states of accounts, logins, and the approval of senders.
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { encode } from 'uqr'
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }

describe('the view of channels', () => {
  const { open } = sharePages()
  /** The login of the first phone waits until it is ended. That of the second one is confirmed at the third code. */
  const shared = share(async () => {
    const chat = await startChat()
    const dir = temporaryFolder()
    copyFileSync(new URL('../fixtures/phone/phone.mjs', import.meta.url), join(dir, 'phone.mjs'))
    const { plugins, channels } = chat.config(dir, { 'chat-native': { dmPolicy: 'pairing' } })
    const phone = {
      accounts: { slow: { token: 'hold-the-login' }, quick: { token: 'any' }, asking: { token: 'ask-in-a-browser' } },
    }
    const gateway = await startGateway(
      { agents, plugins: [...plugins, './phone.mjs'], channels: { ...channels, phone } },
      dir,
    )
    return { chat, ...gateway }
  })

  it('shows each account with its state, and why it is not connected', async () => {
    const { page, complaints } = await open(shared().url, '#/channels')
    const accounts = page.getByRole('list', { name: 'Accounts' })
    await accounts.getByRole('listitem').filter({ hasText: 'chat-native' }).getByText('connected').waitFor()
    const phone = accounts.getByRole('listitem').filter({ hasText: 'phone (slow)' })
    await phone.getByText('login required').waitFor()
    await phone.getByText('The phone is not linked.').waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  it('shows the QR code of a login, and ends the login with the dialog', async () => {
    const { url, get } = shared()
    const { page } = await open(url, '#/channels')
    await page.getByRole('button', { name: 'Log in to phone (slow)' }).click()
    const dialog = page.getByRole('dialog', { name: 'Log in to phone (slow)' })
    const drawn = dialog.getByRole('img', { name: 'QR code' })
    await drawn.waitFor()
    expect(await readCode(drawn)).toEqual(encode('code-one-secret', { border: 4 }).data)
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(async () => (await get('/api/channels/phone/login?account=slow')).body.status).toBe('failed')
  })

  it('shows an address, asks for a password without showing it, and links the account', async () => {
    const { page, complaints } = await open(shared().url, '#/channels')
    await page.getByRole('button', { name: 'Log in to phone (asking)' }).click()
    const dialog = page.getByRole('dialog', { name: 'Log in to phone (asking)' })
    const link = dialog.getByRole('link', { name: 'https://phone.example/device' })
    await link.waitFor()
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer')
    const password = dialog.getByLabel('Password of the phone')
    await password.waitFor()
    expect(await password.getAttribute('type')).toBe('password')
    await expectAccessible(page)
    await password.fill('open sesame')
    await page.keyboard.press('Enter')
    for (const code of ['0000', '4711']) {
      const field = dialog.getByLabel('Code from the app')
      await expect.poll(() => field.inputValue()).toBe('')
      await field.fill(code)
      await dialog.getByRole('button', { name: 'Continue' }).click()
    }
    await page.getByText('The account is linked.').waitFor()
    expect(complaints).toEqual([])
  })

  it('follows a login until the account is linked, and logs out again', async () => {
    const { page } = await open(shared().url, '#/channels')
    await page.getByRole('button', { name: 'Log in to phone (quick)' }).click()
    await page.getByText('The account is linked.').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    const account = page.getByRole('listitem').filter({ hasText: 'phone (quick)' })
    await account.getByText('connected').waitFor()
    await account.getByRole('button', { name: 'Log out of phone (quick)' }).click()
    const dialog = page.getByRole('dialog', { name: 'Log out of phone (quick)' })
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Log out' }).click()
    await page.getByText('phone (quick) is logged out.').waitFor()
    await account.getByText('login required').waitFor()
  })

  it('approves a sender, denies another, and withdraws an approval, with the keyboard alone', async () => {
    const { url, chat } = shared()
    for (const id of ['ada', 'eve']) await chat.say({ from: { id, name: `${id} Example` }, to: id })
    const { page } = await open(url, '#/channels')
    const waiting = page.getByRole('list', { name: 'Waiting for approval' })
    await waiting.getByRole('listitem').nth(1).waitFor()
    await expectAccessible(page)
    const press = async (name: string): Promise<void> => {
      await page.getByRole('button', { name, exact: true }).focus()
      await page.keyboard.press('Enter')
    }
    await press('Approve ada Example')
    const approved = page.getByRole('list', { name: 'Approved senders' })
    await approved.getByText('ada Example').waitFor()
    await press('Deny eve Example')
    await waiting.waitFor({ state: 'detached' })
    expect(await chat.say({ from: { id: 'ada' } })).toBe('accepted')
    expect(await chat.say({ from: { id: 'eve' } })).toBe('ignored')
    await press('Withdraw the approval of ada Example')
    await press('Withdraw')
    await approved.waitFor({ state: 'detached' })
    expect(await chat.say({ from: { id: 'ada' } })).toBe('ignored')
  })

  it('shows the last messages of all channels, live, and leads to them', async () => {
    const { url, chat, post } = shared()
    const { page, complaints } = await open(url, '#/channels')
    await page.getByRole('region', { name: 'Last messages' }).waitFor()
    const reply = { message: 'Good morning.', channel: 'chat-native', to: 'ada', wakeMode: 'next-heartbeat' }
    await post('/hooks/agent', reply, { prefer: 'wait=20' })
    const messages = page.getByRole('list', { name: 'Last messages' })
    await messages
      .getByRole('link', { name: /^sent to ada on chat-native/ })
      .first()
      .waitFor()
    await expectAccessible(page)
    await chat.say({ from: { id: 'zoe' }, to: 'zoe' })
    const { code } = (await shared().get('/api/pairings')).body.items.find(
      ({ sender }: { sender: string }) => sender === 'zoe',
    )
    await post(`/api/pairings/${code}/approve`, {}, { authorization: `Bearer ${gatewayToken}` })
    await chat.say({ from: { id: 'zoe' }, to: 'zoe' })
    await messages
      .getByRole('link', { name: /^succeeded from chat-native/ })
      .first()
      .click()
    await page.getByRole('list', { name: 'Transcript' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('says how to begin without a channel', async () => {
    const { url } = await startGateway({ agents, channels: undefined })
    const { page } = await open(url, '#/channels')
    await page.getByRole('heading', { name: 'No channel is configured' }).waitFor()
    await expectAccessible(page)
  })
})

/** The squares of a drawn code, from what the browser would paint at their centers. */
async function readCode(drawn: import('playwright-core').Locator): Promise<boolean[][]> {
  return await drawn.evaluate((element) => {
    const svg = element as unknown as { viewBox: { baseVal: { width: number } }; querySelector(path: string): Shape }
    type Shape = { isPointInFill(point: DOMPointLike): boolean }
    type DOMPointLike = { x: number; y: number }
    const path = svg.querySelector('path')
    const size = svg.viewBox.baseVal.width
    return Array.from({ length: size }, (_row, y) =>
      Array.from({ length: size }, (_cell, x) => path.isPointInFill({ x: x + 0.5, y: y + 0.5 })),
    )
  })
}
