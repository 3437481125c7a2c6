// Tests Home in a real browser: the first five minutes, what needs the reader, and what the last hour has cost.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { hookToken, startGateway, writeConfig } from '../helpers.ts'
import { expectAccessible, sharePages } from './open-page.ts'
import { startPricedHooks } from './priced-hooks.ts'

const still = { defaults: { heartbeat: { every: 0 } } }

describe('Home', () => {
  const { open } = sharePages()

  it('leads through the first five minutes: a webhook with one click, and on from there', async () => {
    const { url, get } = await startGateway({ agents: still })
    const { page, complaints } = await open(url)
    const steps = page.getByRole('region', { name: 'The first five minutes' })
    await steps.getByRole('heading', { name: 'Connect a model' }).waitFor()
    await expectAccessible(page)
    await steps.getByRole('button', { name: 'Send a webhook' }).click()
    await page.getByRole('group', { name: 'Message' }).getByText('Say hello.').waitFor()
    await page.getByRole('link', { name: /^succeeded/ }).click()
    await page.getByRole('group', { name: 'Reply' }).waitFor()
    expect((await get('/api/requests')).body.items).toMatchObject([{ hook: 'agent', status: 'accepted' }])
    await page.goto(`${url}/#/home`)
    await steps.getByRole('heading', { name: 'Send a first webhook done' }).waitFor()
    await steps.getByRole('link', { name: 'Open the chat' }).click()
    await page.getByLabel('Message').waitFor()
    // The browser reports that the session does not exist yet.
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
  })

  it('hides the first steps for a reader who does not want them', async () => {
    const { url } = await startGateway({ agents: still })
    const { page } = await open(url)
    const steps = page.getByRole('region', { name: 'The first five minutes' })
    await steps.getByRole('button', { name: 'Hide' }).click()
    await steps.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('region', { name: 'Needs you now' }).waitFor()
    expect(await steps.count()).toBe(0)
  })

  it('is not about the first minutes on a gateway that is set up', async () => {
    const model = await startModel()
    const hooks = { enabled: true, token: hookToken, presets: ['github'], github: { auth: { secret: 'of github' } } }
    const { url, post } = await startGateway({ agents: still, providers: model.providers, hooks })
    await post('/hooks/wake', { text: 'hi', mode: 'next-heartbeat' })
    const { page } = await open(url)
    await page.getByText('Nothing. Everything works as configured.').waitFor()
    expect(await page.getByRole('region', { name: 'The first five minutes' }).count()).toBe(0)
  })

  it('shows what check warns about, and runs that failed', async () => {
    const model = await startModel()
    model.script({ status: 400 })
    const config = {
      providers: model.providers,
      agents: { defaults: { ...still.defaults, model: 'double/m' } },
    }
    const { url, post, dir, gateway } = await startGateway(config)
    const body = { message: 'hi', deliver: false, wakeMode: 'next-heartbeat' }
    await post('/hooks/agent', body, { prefer: 'wait=20' })
    writeConfig(dir, { ...config, tools: { deny: ['no_such_tool'] } })
    await gateway.reload()
    const { page, complaints } = await open(url)
    const needs = page.getByRole('list', { name: 'Needs you now' })
    await needs.getByRole('link', { name: /^tools\.deny names "no_such_tool"/ }).waitFor()
    await expectAccessible(page)
    await needs.getByRole('link', { name: /^1 run failed in the last day/ }).click()
    await page
      .getByRole('list', { name: 'Runs' })
      .getByRole('link', { name: /^failed/ })
      .waitFor()
    expect(complaints).toEqual([])
  })

  it('sums up the last hour by hook and agent, those that cost most first, and shows the queue', async () => {
    const { url, post, model } = await startPricedHooks({ hang: true })
    await post('/hooks/cheap', { text: 'hang' })
    await model.request(3)
    const { page, complaints } = await open(url)
    const rows = page.getByRole('region', { name: 'By hook and origin' }).getByRole('row')
    await expect.poll(() => rows.count()).toBe(3)
    expect(await rows.allTextContents()).toEqual([
      'NameRunsFailedTokensCost',
      'hook dear10140$0.14',
      'hook cheap2070$0.0700',
    ])
    const tiles = page.getByRole('definition')
    await expect.poll(() => tiles.filter({ has: page.getByRole('link') }).allTextContents()).toEqual(['0', '1', '0'])
    await expectAccessible(page)
    await rows.getByRole('link', { name: 'hook dear' }).click()
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
    expect(new URL(page.url()).hash).toBe('#/runs?kind=hook&hook=dear')
    expect(complaints).toEqual([])
  })
})
