// Tests the views of runs and sessions in a real browser, as a reader uses them.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { hookToken, type RunningGateway, startGateway } from '../helpers.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const quiet = { deliver: false, wakeMode: 'next-heartbeat' }

async function startWithModel() {
  const model = await startModel()
  const gateway = await startGateway({
    providers: model.providers,
    agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } }, main: {} },
  })
  const run = async (message: string, options: object = {}): Promise<string> =>
    (await gateway.post('/hooks/agent', { message, ...quiet, ...options }, { prefer: 'wait=30' })).body.runId
  return { model, run, ...gateway }
}

const statusOf = async ({ get }: Pick<RunningGateway, 'get'>, id: string): Promise<string> =>
  (await get(`/runs/${id}`)).body.status

describe('the view of runs', () => {
  const { open } = sharePages()

  it('shows the timeline of a run: model calls, tools with their verdicts, arguments and results', async () => {
    const { model, url, run } = await startWithModel()
    model.script(
      { tool: 'session_status', args: {} },
      { tool: 'exec', args: { command: 'rm' } },
      { text: 'All is well.' },
    )
    const id = await run('Look around.', { name: 'Patrol' })
    const { page, complaints } = await open(url, '#/runs')
    await page.getByRole('link', { name: /succeeded Patrol All is well\./ }).click()
    expect(new URL(page.url()).hash).toBe(`#/runs/${id}`)
    await page.getByRole('group', { name: 'Reply' }).getByText('All is well.').waitFor()
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByText('denied', { exact: true }).waitFor()
    expect(await timeline.getByText('double/m').count()).toBe(3)
    await timeline.getByText('session_status').click()
    await timeline.getByText('allowed', { exact: true }).waitFor()
    await timeline.getByRole('group', { name: 'Result' }).getByText('transcriptMessages').waitFor()
    await timeline.getByText('exec').first().click()
    await timeline.getByText('"rm"').waitFor()
    await expectAccessible(page)
    await page.getByRole('region', { name: 'Where it comes from' }).getByRole('link').first().click()
    await page.getByRole('heading', { name: 'agent', exact: true }).waitFor()
    await page.getByRole('link', { name: /succeeded All is well/ }).waitFor()
    expect(complaints).toEqual([])
  })

  it('shows a run live while it works, and cancels it', async () => {
    const { model, url, post, get } = await startWithModel()
    model.script({ tool: 'session_status', args: {} }, { hang: true })
    const { page } = await open(url, '#/runs')
    const { runId } = (await post('/hooks/agent', { message: 'Work.', ...quiet })).body
    await page.getByRole('link', { name: /running/ }).click()
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByText('session_status').waitFor()
    await timeline.getByText('the model works').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click()
    await page.getByRole('list', { name: 'Runs' }).getByText('The run was cancelled.').waitFor()
    expect(await statusOf({ get }, runId)).toBe('cancelled')
  })

  it('retries a failed run, and all failed runs of a filter', async () => {
    const { model, url, run, get } = await startWithModel()
    model.script({ status: 400 }, { status: 400 }, { status: 400 }, { text: 'one' }, { text: 'two' }, { text: 'three' })
    const first = await run('First.')
    for (const message of ['Second.', 'Third.']) await run(message)
    const { page } = await open(url, `#/runs/${first}?status=failed`)
    await page.getByRole('button', { name: 'Retry', exact: true }).click()
    await page.getByRole('group', { name: 'Reply' }).getByText('one').waitFor()
    await page.goto(`${url}/#/runs?status=failed`)
    await page.getByRole('button', { name: 'Retry all' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Retry 2 runs' }).click()
    await dialog.getByText('2 runs retried of 2.').waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Done' }).click()
    await expect.poll(async () => (await get('/api/runs?status=succeeded')).body.items.length).toBe(3)
  })
})

describe('the view of sessions', () => {
  const { open } = sharePages()

  it('chats with an agent: the reply grows while it is written, and tools are shown', async () => {
    const { model, url, get } = await startWithModel()
    model.script({ tool: 'session_status', args: {} }, { text: 'Good morning.' }, { text: 'Again.' })
    const { page, complaints } = await open(url, '#/sessions')
    await page.getByText('No sessions yet').waitFor()
    await page.getByRole('button', { name: 'Chat' }).click()
    await page.getByLabel('Message').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('Hello?')
    await page.keyboard.press('Enter')
    const transcript = page.getByRole('list', { name: 'Transcript' })
    await transcript.getByText('Good morning.').waitFor()
    await transcript.getByText('Hello?').waitFor()
    await expectAccessible(page)
    await page.getByRole('list', { name: 'Sessions' }).getByRole('link', { name: /main/ }).waitFor()
    await page.getByLabel('Message').fill('And now?')
    await page.getByRole('button', { name: 'Send' }).click()
    await transcript.getByText('Again.').waitFor()
    expect((await get('/api/sessions/main')).body.transcript.at(-1).text).toBe('Again.')
    // The browser reports that the session did not exist at first.
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
  })

  it('stops a chat that takes too long', async () => {
    const { model, url, get } = await startWithModel()
    model.script({ hang: true })
    const { page } = await open(url, '#/sessions/main')
    await page.getByLabel('Message').fill('Think forever.')
    await page.keyboard.press('Enter')
    await model.request(0)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'Send' }).waitFor()
    expect((await get('/api/runs?kind=chat')).body.items[0].status).toBe('cancelled')
  })

  it('shows a run that somebody else has started, and stops it', async () => {
    const model = await startModel()
    model.script({ hang: true })
    const { url, post, get } = await startGateway({
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      hooks: {
        enabled: true,
        token: hookToken,
        mappings: [{ match: { path: 'any' }, sessionKey: 'hook:any', messageTemplate: 'Work.', ...quiet }],
      },
    })
    const { page } = await open(url, `#/sessions/${encodeURIComponent('agent:main:hook:any')}`)
    const { runId } = (await post('/hooks/any', {})).body
    await model.request(0)
    await page.getByText(/^hook any works since/).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText(/^hook any works since/).waitFor({ state: 'detached' })
    expect(await statusOf({ get }, runId)).toBe('cancelled')
  })

  it('shows the events that wait for the next run', async () => {
    const { url, post } = await startWithModel()
    await post('/hooks/wake', { text: 'The backup has failed.', mode: 'next-heartbeat' })
    const { page } = await open(url, '#/sessions/main')
    await page.getByRole('region', { name: '1 event for the next run' }).getByText('The backup has failed.').waitFor()
    await expectAccessible(page)
  })
})
