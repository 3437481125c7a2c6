// Tests the view of the outbox in a real browser: live deliveries, filters, what to check, and the retry.
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

describe('the view of the outbox', () => {
  const { open } = sharePages()
  const shared = share(async () => {
    const chat = await startChat()
    const dir = temporaryFolder()
    const config = chat.config(dir, { 'chat-native': {}, 'chat-none': {} })
    const gateway = await startGateway({ agents: { defaults: { heartbeat: { every: 0 } } }, ...config }, dir)
    const send = async (channel: string, to: string) =>
      await gateway.post('/hooks/agent', { message: 'hi', channel, to, wakeMode: 'next-heartbeat' })
    return { chat, send, ...gateway }
  })

  it('says what it is for while it is empty', async () => {
    const { url } = await startGateway()
    const { page } = await open(url, '#/outbox')
    await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor()
    await expectAccessible(page)
  })

  it('lists deliveries as they change, with filters in the address', async () => {
    const { url, send } = shared()
    const { page, complaints } = await open(url, '#/outbox?channel=chat-native')
    await send('chat-native', 'room-one')
    await send('chat-none', 'room-two')
    const list = page.getByRole('list', { name: 'Deliveries' })
    await list.getByRole('link', { name: /sent chat-native room-one/ }).waitFor()
    await page.getByLabel('Channel').selectOption('chat-none')
    await list.getByRole('link', { name: /sent chat-none room-two/ }).waitFor()
    expect(await list.getByText('room-one').count()).toBe(0)
    expect(new URL(page.url()).hash).toBe('#/outbox?channel=chat-none')
    await page.getByLabel('Status').selectOption('failed')
    await page.getByRole('heading', { name: 'No delivery matches the filters' }).waitFor()
    await page.getByRole('button', { name: 'Show all deliveries' }).click()
    await list.getByText('room-one').waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  it('says what to check for an unknown delivery, and asks before it is sent again', async () => {
    const { url, chat, send } = shared()
    chat.script('lose')
    await send('chat-none', 'room-lost')
    const { page } = await open(url, '#/outbox?status=unknown')
    await page.getByRole('link', { name: /unknown chat-none room-lost/ }).click()
    await page.getByText('Nobody knows whether it arrived.').waitFor()
    await page.getByText('Look into the conversation with room-lost on chat-none.').waitFor()
    await page.getByRole('group', { name: 'Text' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Send again' }).click()
    const dialog = page.getByRole('dialog', { name: 'Send the message again' })
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('The delivery is sent again.').waitFor()
    await page.getByText('Nobody knows whether it arrived.').waitFor({ state: 'detached' })
    expect(await chat.holds(2, 'room-lost')).toHaveLength(2)
  })

  it('retries a failed delivery at once, and says why it failed', async () => {
    const { url, chat, send, get } = shared()
    chat.script({ answer: { outcome: 'failed', reason: 'permanent', detail: 'No such room.' } })
    await send('chat-none', 'room-missing')
    const failed = async () => (await get('/api/outbox?status=failed')).body.items
    await expect.poll(async () => (await failed()).length).toBe(1)
    const [{ id }] = await failed()
    const { page } = await open(url, `#/outbox/${encodeURIComponent(id)}`)
    await page.getByText('Failed: No such room.').waitFor()
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByRole('heading', { name: 'chat-none room-missing' }).waitFor()
    await chat.holds(1, 'room-missing')
    await page.getByText('sent', { exact: true }).last().waitFor()
    await page.keyboard.press('Escape')
    expect(new URL(page.url()).hash).toBe('#/outbox')
  })

  it('shows why a delivery is missing', async () => {
    const { page } = await open(shared().url, '#/outbox/nothing')
    await page.getByRole('heading', { name: 'The delivery could not be loaded' }).waitFor()
    await expectAccessible(page)
  })
})
