// Tests the view of usage and budgets in a real browser, and where else the page shows cost.
import { describe, expect, it } from 'vitest'
import { callTokens, mapping, startPriced } from '../budgets/gateway.ts'
import { gatewayToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const limited = { name: 'ann', role: 'operator', token: 'token-of-the-limited-0123456789', agents: ['main'] }
const hostile = '<img src=x onerror="globalThis.hasRun=1">'

const start = async () => {
  const gateway = await startPriced({
    gateway: { auth: { token: gatewayToken, clients: [limited] } },
    budget: [{ per: '30d', usd: 9 }],
    hooks: {
      allowRequestSessionKey: true,
      mappings: [
        mapping('used', { budget: [{ per: '1d', tokens: callTokens }] }),
        mapping('near', { budget: [{ per: '1d', runs: 5, onLimit: 'wait' }] }),
      ],
    },
  })
  const { model, hook } = gateway
  model.script(...Array.from({ length: 6 }, () => ({ text: 'Done.' })))
  await hook('used')
  for (let n = 0; n < 4; n++) await hook('near', { n })
  const sessionKey = `hook:${hostile}${'W'.repeat(150)}`
  const answer = await hook('agent', { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat', sessionKey })
  expect(answer.body.status).toBe('succeeded')
  return { ...gateway, runId: answer.body.runId as string }
}

describe('the view of usage', () => {
  const { open } = sharePages()
  const shared = share(start)

  it('says what it is for while nothing was used and no budget is set', async () => {
    const { url } = await startGateway()
    const { page, complaints } = await open(url, '#/usage')
    await page.getByRole('heading', { name: 'No model has been used in this time' }).waitFor()
    await page.getByText('None. With budget, what runs may use').waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  it('plots cost and tokens per day, and adds them up by what the reader chooses, in the address', async () => {
    const { url } = shared()
    const { page, complaints } = await open(url, '#/usage?by=hook')
    await page.getByRole('img', { name: /^Cost per day since \d{4}-\d\d-\d\d: \$0\.42 in all$/ }).waitFor()
    await page.getByRole('row', { name: /^near \$0\.28 4 \d+ \d+$/ }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Plot').selectOption('tokens')
    await page.getByRole('img', { name: /^Tokens per day since .*: 420 in all$/ }).waitFor()
    await page.getByLabel('Since', { exact: true }).selectOption('7d')
    await page.getByLabel('Sums').selectOption('model')
    await page.getByRole('row', { name: /^double\/m \$0\.42 6 / }).waitFor()
    expect(new URL(page.url()).hash).toBe('#/usage?by=model&unit=tokens&since=7d')
    expect(complaints).toEqual([])
  })

  it('says how many calls of models have no known price', async () => {
    const { url, model, hook } = await startPriced({
      agents: { defaults: { models: [{ id: 'double/m' }] } },
      hooks: { mappings: [mapping('free')] },
    })
    model.script({ text: 'Done.' })
    await hook('free')
    const { page } = await open(url, '#/usage')
    await page.getByText('1 model call without a known price cannot be in the cost.').waitFor()
    await page.getByRole('row', { name: 'main – 1 50 20' }).waitFor()
    await expectAccessible(page)
  })

  it('draws a bar for a day with usage', async () => {
    const { page } = await open(shared().url, '#/usage?since=7d')
    await page.getByRole('img', { name: /^Cost per day/ }).waitFor()
    const accent = `(() => {
      const canvas = document.querySelector('.plot canvas')
      const probe = document.body.appendChild(document.createElement('span'))
      probe.style.color = 'var(--accent)'
      const [red, green, blue] = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number)
      probe.remove()
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      let found = 0
      for (let at = 0; at < data.length; at += 4)
        if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) found++
      return found
    })()`
    await expect.poll(() => page.evaluate<number>(accent)).toBeGreaterThan(500)
  })

  it('shows how far each budget is used, and when it opens again; Home lists those near their limits', async () => {
    const { url } = shared()
    const { page, complaints } = await open(url)
    const needs = page.getByRole('list', { name: 'Needs you now' })
    await needs.getByRole('link', { name: /The budget of hook near is used by 80 % 4 of 5 runs/ }).waitFor()
    expect(await needs.getByText('The budget of everything').count()).toBe(0)
    await needs.getByRole('link', { name: /The budget of hook used is used up/ }).focus()
    await page.keyboard.press('Enter')
    const list = page.getByRole('list', { name: 'Budgets' })
    const used = list.getByRole('listitem').filter({ hasText: 'hook used' })
    await used.getByText('webhooks are refused; opens again in').waitFor()
    const meter = used.getByRole('meter', { name: 'hooks.mappings[0].budget[0]' })
    expect(await meter.getAttribute('aria-valuenow')).toBe('100')
    expect(await meter.getAttribute('aria-valuetext')).toBe(`${callTokens} of ${callTokens} tokens`)
    await list.getByRole('listitem').filter({ hasText: 'everything' }).getByText('$0.42 of $9.00').waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  it('shows hostile names as text, in a narrow window too', async () => {
    const { url } = shared()
    const { page, complaints } = await open(url, '#/usage?by=session', { viewport: { width: 360, height: 740 } })
    await page.getByRole('cell', { name: hostile }).waitFor()
    expect(await page.evaluate<boolean>(`'hasRun' in globalThis`)).toBe(false)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  it('shows a client that is limited to agents what these have used', async () => {
    const tabStorage = { 'svc-gateway credential /': limited.token }
    const { page, complaints } = await open(shared().url, '#/usage', { tabStorage })
    await page.getByRole('region', { name: 'Usage by agent' }).waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  it('the detail of a run shows its cost, and its timeline that of each call', async () => {
    const { url, runId } = shared()
    const { page } = await open(url, `#/runs/${runId}`)
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByText('$0.0700').click()
    await timeline.getByText(/^\d+ in, \d+ out$/).waitFor()
    expect(await page.getByText('$0.0700', { exact: true }).count()).toBe(3)
    await expectAccessible(page)
  })
})
