// Tests the view of the log in a real browser: live lines, filters, and the pause.
import { describe, expect, it } from 'vitest'
import { hookToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

describe('the view of the log', () => {
  const { open } = sharePages()
  const gateway = share(() => startGateway({ log: { level: 'debug' }, hooks: { enabled: true, token: hookToken } }))
  /** Opens the view and waits until it receives lines. */
  async function openLog() {
    const visit = await open(gateway().url, '#/log')
    const lines = visit.page.getByRole('list', { name: 'Lines' })
    const arrives = async (): Promise<number> => {
      await ask('/runs/warm-up')
      return await lines.count()
    }
    await expect.poll(arrives).toBe(1)
    return { lines, ...visit }
  }

  /** Each request is one line of the log at least, with its path. */
  const ask = (path: string) => gateway().get(path)

  it('shows lines as they are written, with their fields', async () => {
    const { page: quiet } = await open(gateway().url, '#/log')
    await quiet.getByRole('heading', { name: 'Waiting for lines' }).waitFor()
    await expectAccessible(quiet)
    const { page, lines, complaints } = await openLog()
    await ask('/runs/nobody-one')
    const line = lines.getByRole('group').filter({ hasText: 'nobody-one' }).first()
    await line.waitFor()
    await line.locator('summary').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('group', { name: 'Fields' }).getByText('nobody-one').waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  it('keeps the filters in the address, and finds text in fields', async () => {
    const { page, lines: list } = await openLog()
    await ask('/runs/nobody-two')
    await ask('/runs/nobody-three')
    await list.getByText('nobody-two').first().waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('NOBODY-THREE')
    await list.getByText('nobody-two').first().waitFor({ state: 'detached' })
    await list.getByText('nobody-three').first().waitFor()
    await page.getByLabel('Level').selectOption('error')
    await page.getByRole('heading', { name: 'No line matches the filters' }).waitFor()
    await expectAccessible(page)
    expect(new URL(page.url()).hash).toBe('#/log?q=NOBODY-THREE&level=error')
  })

  it('pauses without losing lines, and clears', async () => {
    const { page } = await openLog()
    await page.getByRole('button', { name: 'Pause' }).click()
    await ask('/runs/nobody-four')
    const resume = page.getByRole('button', { name: /^Continue \([1-9]\d* new lines?\)$/ })
    await resume.waitFor()
    expect(await page.getByText('nobody-four').count()).toBe(0)
    await resume.click()
    await page.getByText('nobody-four').first().waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByRole('heading', { name: 'Waiting for lines' }).waitFor()
  })
})
