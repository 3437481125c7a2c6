// Tests what the view of hooks says about the traffic of a hook, and its samples, in a real browser.
import { describe, expect, it } from 'vitest'
import { hookToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

describe('the view of hooks', () => {
  const { open } = sharePages()
  const gateway = share(() =>
    startGateway({
      agents: { defaults: { heartbeat: { every: 0 } } },
      hooks: {
        enabled: true,
        token: hookToken,
        presets: ['github'],
        github: { auth: { secret: 'a secret of github' }, deliver: false },
      },
    }),
  )

  it('counts what arrives and what is refused, live, and leads to it', async () => {
    const { url, post } = gateway()
    await post('/hooks/wake', { text: 'one', mode: 'next-heartbeat' })
    const { page, complaints } = await open(url, '#/hooks/wake')
    const arrived = page.getByRole('region', { name: 'What arrives' })
    await arrived.getByText('In the last hour').waitFor()
    const values = (): Promise<string[]> => arrived.getByRole('definition').allTextContents()
    expect((await values()).slice(1)).toEqual(['1', '1', '0'])
    await post('/hooks/wake', { wrong: true })
    await expect.poll(async () => (await values()).slice(1)).toEqual(['2', '2', '1'])
    await expectAccessible(page)
    await arrived.getByRole('link', { name: /rejected text is required\./ }).click()
    await page.getByRole('alert').getByText('Rejected:').waitFor()
    expect(complaints).toEqual([])
  })

  it('shows the samples of a preset and sends one, with the keyboard alone', async () => {
    const { url, get } = gateway()
    const [{ name }] = (await get('/api/presets/github/samples')).body.items
    const { page, complaints } = await open(url, '#/hooks/github')
    const sample = page.getByRole('list', { name: 'Samples' }).getByRole('listitem').first()
    await sample.locator('summary').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('group', { name: `Payload of ${name}` }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: `Send ${name}` }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByRole('link', { name: 'Show the request' }).click()
    await page.getByRole('group', { name: 'Message' }).first().waitFor()
    await page.getByRole('link', { name: 'Write a mapping' }).click()
    await expect.poll(() => page.getByLabel('Hook').inputValue()).toBe('github')
    expect(complaints).toEqual([])
  })
})
