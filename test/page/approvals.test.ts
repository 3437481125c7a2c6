// Tests the view of approvals in a real browser: live calls, arguments as they run, the answers, and roles.
import { describe, expect, it } from 'vitest'
import { createLaunchPad, plugins, scriptCall } from '../approvals/launch-pad.ts'
import { startModel } from '../doubles/model.ts'
import { login } from '../control/rpc-client.ts'
import { gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const tokens = {
  viewer: 'token-of-the-viewer-0123456789',
  deaf: 'token-of-the-deaf-0123456789',
  limited: 'token-of-the-limited-0123456789',
}
const clients = [
  { name: 'eve', role: 'viewer', token: tokens.viewer, content: true },
  { name: 'mia', role: 'operator', token: tokens.limited, agents: ['main'] },
  { name: 'deaf', role: 'operator', token: tokens.deaf, content: false },
]
const asTab = (token: string) => ({ tabStorage: { 'svc-gateway credential /': token } })

async function start() {
  const [model, dir] = [await startModel(), temporaryFolder()]
  const pad = createLaunchPad(dir)
  const gateway = await startGateway(
    {
      ...pad.document(),
      plugins: [plugins],
      providers: model.providers,
      hooks: { allowRequestSessionKey: true },
      gateway: { auth: { token: gatewayToken, clients } },
    },
    dir,
  )
  /** Starts a run in a session of its own that waits until `args` are approved. */
  async function ask(args: object): Promise<string> {
    scriptCall(model, args)
    const body = { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat' }
    const sessionKey = `hook:${crypto.randomUUID()}`
    const { runId } = (await gateway.post('/hooks/agent', { ...body, sessionKey })).body
    await expect.poll(async () => (await gateway.get(`/runs/${runId}`)).body.status).toBe('waiting')
    return runId
  }
  const approvalOf = async (runId: string) => (await gateway.get(`/api/approvals?runId=${runId}`)).body.items[0]
  return { ...gateway, model, pad, ask, approvalOf }
}

describe('the view of approvals', () => {
  const { open } = sharePages()
  const shared = share(start)

  it('says what it is for while it is empty', async () => {
    const { url } = await startGateway()
    const { page } = await open(url, '#/approvals')
    await page.getByRole('heading', { name: 'No approvals yet' }).waitFor()
    await expectAccessible(page)
  })

  it('lists a call when it begins to wait, shows all that runs, and approves it with the keyboard', async () => {
    const { url, ask, model, pad } = shared()
    const { page, complaints } = await open(url, '#/approvals?status=waiting')
    await page.getByRole('heading', { name: 'No approval matches the filters' }).waitFor()
    const args = { target: 'moon', deep: { list: [1, [2, [3, { four: 'five' }]]] } }
    const runId = await ask(args)
    const row = page.getByRole('link', { name: /waiting launch main webhook agent/ })
    await row.focus()
    await page.keyboard.press('Enter')
    const shown = page.getByRole('group', { name: 'Arguments' })
    expect(JSON.parse((await shown.textContent()) ?? '')).toEqual(args)
    await page.getByText('tools.ask: "launch"').waitFor()
    await page.getByText('Expires', { exact: true }).waitFor()
    expect(await page.getByRole('link', { name: runId }).getAttribute('href')).toBe(`#/runs/${runId}`)
    await expectAccessible(page)
    model.script({ text: 'Done.' })
    await page.getByRole('button', { name: 'Approve' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Approved. The call is made now.').waitFor()
    await page.getByText('admin gateway (http)').waitFor()
    await expect.poll(() => pad.launches()).toContainEqual(args)
    await page.getByRole('heading', { name: 'No approval matches the filters' }).waitFor()
    await page.keyboard.press('Escape')
    expect(new URL(page.url()).hash).toBe('#/approvals?status=waiting')
    expect(complaints).toEqual([])
  })

  it('denies a call that Home leads to, with a reason that the agent reads', async () => {
    const { url, ask, model, pad, approvalOf } = shared()
    const before = pad.launches().length
    const runId = await ask({ target: 'sun' })
    const { page, complaints } = await open(url, `#/runs/${runId}`)
    await page.getByRole('region', { name: 'Timeline' }).getByText('launch').click()
    await page.getByText('a person decides').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).waitFor()
    await page.getByRole('link', { name: 'Show it' }).click()
    await page.getByRole('link', { name: /waiting launch main/ }).waitFor()
    await page.goto(`${url}/#/home`)
    await page
      .getByRole('list', { name: 'Needs you now' })
      .getByRole('link', { name: /The agent main asks to call launch/ })
      .click()
    await page.getByRole('button', { name: 'Deny' }).click()
    const dialog = page.getByRole('dialog', { name: 'Deny the call of launch' })
    await dialog.getByLabel('Reason').fill('It is too hot.')
    await expectAccessible(page)
    model.script({ text: 'Then not.' })
    await dialog.getByRole('button', { name: 'Deny the call' }).click()
    await page.getByText('The call is denied.').waitFor()
    await page.getByText('It is too hot.', { exact: true }).waitFor()
    expect(await approvalOf(runId)).toMatchObject({ status: 'denied', reason: 'It is too hot.' })
    expect(pad.launches()).toHaveLength(before)
    expect(complaints).toEqual([])
  })

  it('approves a call that only texts of the turn forbid for the whole turn', async () => {
    const { url, post, get, model, pad } = shared()
    await post('/hooks/wake', { text: 'The build has failed.', mode: 'next-heartbeat' })
    const args = { target: 'pluto' }
    model.script({ tool: 'post_outside', args }, { tool: 'post_outside', args: { target: 'ceres' } }, { text: 'Done.' })
    const chat = (await login(url)).call('chat.send', { text: 'Launch them.' })
    await expect.poll(async () => (await get('/api/approvals?status=waiting')).body.items[0]?.args).toEqual(args)
    const [{ id }] = (await get('/api/approvals?status=waiting')).body.items
    const { page, complaints } = await open(url, `#/approvals/${id}`)
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Approve for this turn' }).click()
    await page.getByText('Approved for this turn. The call is made now.').waitFor()
    await page.getByText('Approved for', { exact: true }).waitFor()
    await expectAccessible(page)
    const { runId } = (await chat).result
    expect(pad.launches().slice(-2)).toEqual([args, { target: 'ceres' }])
    await page.goto(`${url}/#/runs/${runId}`)
    await page
      .getByText(/^It may do less, because it reads text from .*webhook wake.* approve a call for the whole turn/)
      .waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  it('escapes what could mislead, and shows markup as text', async () => {
    const { url, ask, approvalOf } = shared()
    const args = {
      command: 'echo \u202Etxt.exe\u2066 \u00a0\u200b\u3164\ufff9\ue000 <img src=x onerror="globalThis.hasRun=1">',
      '\u05d0\u05d1': 'a\nb',
      long: 'W'.repeat(3_000),
    }
    const runId = await ask(args)
    const { page, complaints, asked } = await open(url, `#/approvals/${(await approvalOf(runId)).id}`)
    const shown = page.getByRole('group', { name: 'Arguments' })
    const text = (await shown.textContent()) ?? ''
    expect(JSON.parse(text)).toEqual(args)
    expect(text).toContain(String.raw`echo \u202etxt.exe\u2066 \u00a0\u200b\u3164\ufff9\ue000 <img`)
    expect(await page.evaluate<string>(`getComputedStyle(document.querySelector('.literal pre')).unicodeBidi`)).toBe(
      'bidi-override',
    )
    expect(await page.evaluate<boolean>(`'hasRun' in globalThis`)).toBe(false)
    expect(await page.locator('#page img').count()).toBe(0)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
    await expectAccessible(page)
    expect(asked.filter((address) => !address.startsWith(`${url}/`))).toEqual([])
    expect(complaints).toEqual([])
  })

  it('shows no answers to a role that may not give them, and hides arguments from a client that may not read them', async () => {
    const { url, ask, approvalOf } = shared()
    const runId = await ask({ target: 'mars' })
    const { id } = await approvalOf(runId)
    const viewer = await open(url, `#/approvals/${id}`, asTab(tokens.viewer))
    await viewer.page.getByText('"mars"').waitFor()
    expect(await viewer.page.getByRole('button', { name: /^(Approve|Deny)$/ }).count()).toBe(0)
    const deaf = await open(url, `#/approvals/${id}`, asTab(tokens.deaf))
    await deaf.page.getByText('Your role does not show what was said.').waitFor()
    expect(await deaf.page.getByText('mars').count()).toBe(0)
    expect(await deaf.page.getByRole('button', { name: /^(Approve|Deny)$/ }).count()).toBe(0)
    const operator = await open(url, `#/approvals/${id}`)
    await operator.page.getByRole('button', { name: 'Approve', exact: true }).waitFor()
    expect(await operator.page.getByRole('button', { name: 'Approve for this turn' }).count()).toBe(0)
  })

  it('is reached from Home by a client that may see only some agents', async () => {
    const { url, ask } = shared()
    await ask({ target: 'venus' })
    const { page } = await open(url, '', asTab(tokens.limited))
    const needs = page.getByRole('list', { name: 'Needs you now' })
    await needs
      .getByRole('link', { name: /The agent main asks to call launch/ })
      .first()
      .waitFor()
    await expectAccessible(page)
  })

  it('shows why an approval is missing', async () => {
    const { page } = await open(shared().url, '#/approvals/nothing')
    await page.getByRole('heading', { name: 'The approval could not be loaded' }).waitFor()
    await expectAccessible(page)
  })
})
