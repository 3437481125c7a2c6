// Answers that approvers give with the buttons of their platform, through the channels and the gateway.
import { describe, expect, it, vi } from 'vitest'
import { annId, channelId, openDiscord } from '../doubles/discord.ts'
import { startModel } from '../doubles/model.ts'
import { actionsOf, alice, deliver, openTeams, type Post } from '../doubles/msteams.ts'
import { ids as slackIds, startSlack } from '../doubles/slack.ts'
import { openTelegram } from '../doubles/telegram.ts'
import { type Document, gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { closeAtEnd, share } from '../share.ts'
import { codeIn, createLaunchPad, plugins, shownArgs } from './launch-pad.ts'

interface Platform {
  settings: object
  /** A group in which all are, and what belongs to the approver alone. */
  group: string
  approver: string
  /** What the bot wrote, with the labels of the buttons that are there. */
  messages(): Promise<readonly { to: string; text: string; choices?: readonly string[] | undefined }[]>
  /** The approver, or a stranger with the same display name, presses a button of the last question. */
  press(label: string, who?: 'stranger'): unknown
  /** The approver writes in the group. */
  say(text: string): unknown
  close(): Promise<void>
}

type OpenPlatform = (request: Post) => Promise<Platform>

const platforms: Readonly<Record<string, OpenPlatform>> = {
  async slack() {
    const { config, messages, press, say, close } = await startSlack()
    return {
      settings: config,
      group: slackIds.room,
      approver: slackIds.ann,
      messages,
      press: (label, who) => press(label, who && { user: 'U0EVE' }),
      say: (text) => say(text, { channel: slackIds.room, channel_type: 'channel' }),
      close,
    }
  },
  async discord() {
    const { config, messages, press, say, close } = await openDiscord()
    const stranger = { member: { user: { id: '200000000000000666', username: 'eve', global_name: 'Ann' } } }
    return {
      settings: config,
      group: channelId,
      approver: annId,
      messages,
      press: (label, who) => press(label, who && stranger),
      say: (text) => say(text, { channel_id: channelId, guild_id: '1' }),
      close,
    }
  },
  async telegram() {
    const { config, messages, press, push, close } = await openTelegram()
    const stranger = { from: { id: 666, is_bot: false, first_name: 'Ann', last_name: 'Lee' } }
    return {
      settings: config,
      group: '-1001',
      approver: '42',
      messages,
      press: (label, who) => press(label, who && stranger),
      say: (text) => push({ chat: { id: -1001, type: 'supergroup', title: 'Team' }, text }),
      close,
    }
  },
  async msteams(request) {
    const { config, posted, press, activity, token, close } = await openTeams()
    const group = '19:team@thread.tacv2'
    const conversation = { id: group, conversationType: 'channel', tenantId: config.tenantId }
    const stranger = { from: { id: '29:eve', name: 'Alice', aadObjectId: '66666666-6666-4666-8666-666666666666' } }
    return {
      settings: config,
      group,
      approver: alice,
      messages: async () =>
        posted.map((one) => ({
          to: one.conversation,
          text: one.text ?? '',
          choices: actionsOf(one).map(({ title }) => title),
        })),
      press: (label, who) => deliver(request, press(label, who && stranger), token()),
      say: (text) => deliver(request, activity({ text, conversation }), token()),
      close,
    }
  },
}

async function start(name: string, changes: { timeout?: string } = {}) {
  let url = ''
  const platform = await platforms[name]!(async ({ headers, body }) => {
    const init = { method: 'POST', headers: headers as Record<string, string>, body: body as Uint8Array<ArrayBuffer> }
    return { status: (await fetch(`${url}/channels/${name}`, init)).status }
  })
  closeAtEnd(platform.close)
  const [model, dir] = [await startModel(), temporaryFolder()]
  model.otherwise({ text: 'Done.' })
  const pad = createLaunchPad(dir)
  const gateway = await startGateway(
    {
      ...pad.document(),
      plugins: [plugins],
      channels: { [name]: platform.settings },
      approvals: { channel: name, to: platform.group, approvers: [platform.approver], ...changes },
      providers: model.providers,
    } satisfies Document,
    dir,
  )
  url = gateway.url
  const post = (path: string, body: object) =>
    gateway.post(path, body, path.startsWith('/api') ? { authorization: `Bearer ${gatewayToken}` } : {})

  const patience = { timeout: 30_000, interval: 20 }
  const texts = async () => (await platform.messages()).map(({ text }) => text).filter((text) => text !== '')
  const buttons = async () => (await platform.messages()).flatMap(({ choices = [] }) => choices)

  async function until(runId: string, status: string): Promise<void> {
    await expect.poll(async () => (await gateway.get(`/runs/${runId}`)).body.status, patience).toBe(status)
  }

  /** Starts a run that asks. Resolves when the question has its buttons. */
  async function ask(args: object) {
    const count = (await texts()).length
    model.script({ tool: 'launch', args })
    const body = { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat' }
    const { runId } = (await post('/hooks/agent', body)).body as { runId: string }
    await expect.poll(async () => (await buttons()).length, patience).toBe(2)
    await until(runId, 'waiting')
    return { runId, question: (await texts()).slice(count).join('\n') }
  }

  /** Resolves with the gateway's reply to an answer. */
  async function replyTo(answer: () => unknown): Promise<string> {
    const count = (await texts()).length
    await answer()
    const isReply = (text: string) => /^(Approved|Denied|This call|The time|The run|No call|There were)/.test(text)
    return (await vi.waitUntil(async () => (await texts()).slice(count).find(isReply), patience)) ?? ''
  }

  return {
    ...gateway,
    platform,
    pad,
    post,
    ask,
    until,
    replyTo,
    buttons,
    press: (label: string) => replyTo(() => platform.press(label)),
    /** Resolves when no message has buttons. */
    cleared: () => vi.waitUntil(async () => (await buttons()).length === 0, patience),
  }
}

describe.each(Object.keys(platforms))('the buttons of a question on %s', { timeout: 120_000 }, (name) => {
  const shared = share(() => start(name))

  it('approve the call, go away, and say so if they are pressed again', async () => {
    const { ask, press, buttons, cleared, until, pad } = shared()
    const { runId, question } = await ask({ by: 'button' })
    expect(await buttons()).toEqual(['Approve', 'Deny'])
    expect(shownArgs(readText(question))).toEqual({ by: 'button' })
    expect(await press('Approve')).toBe('Approved. The call is made now.')
    await until(runId, 'succeeded')
    expect(pad.launches()).toEqual([{ by: 'button' }])
    await cleared()
    // An app that has not noticed yet still shows them.
    expect(await press('Deny')).toBe('This call was already approved.')
    expect(pad.launches()).toHaveLength(1)
  })

  it('do nothing for somebody in the same group with the same name, and deny the call for the approver', async () => {
    const { ask, press, cleared, until, get, pad, platform } = shared()
    const { runId } = await ask({ by: 'stranger' })
    await platform.press('Approve', 'stranger')
    expect(await press('Deny')).toBe('Denied. The agent reads that this call was denied.')
    await until(runId, 'succeeded')
    const [, step] = (await get(`/runs/${runId}/steps`)).body.items
    expect(step).toMatchObject({ status: 'refused', error: 'The approver denied this call.' })
    expect(pad.launches()).not.toContainEqual({ by: 'stranger' })
    await cleared()
  })

  it('count once, together with words', async () => {
    const { ask, replyTo, until, platform, pad } = shared()
    const { runId, question } = await ask({ by: 'both' })
    const replies: string[] = []
    replies.push(
      await replyTo(() => Promise.all([platform.say(`approve ${codeIn(question)}`), platform.press('Approve')])),
    )
    replies.push(await replyTo(() => platform.press('Approve')))
    expect(replies).toEqual(['Approved. The call is made now.', 'This call was already approved.'])
    await until(runId, 'succeeded')
    expect(pad.launches().filter((args) => JSON.stringify(args) === '{"by":"both"}')).toHaveLength(1)
  })

  it('go away when the call is answered elsewhere, or its run is cancelled', async () => {
    const { ask, press, cleared, until, post, get } = shared()
    const elsewhere = await ask({ by: 'api' })
    const [{ id }] = (await get(`/api/approvals?runId=${elsewhere.runId}`)).body.items
    await post(`/api/approvals/${id}/deny`, {})
    await until(elsewhere.runId, 'succeeded')
    await cleared()
    const cancelled = await ask({ by: 'nobody' })
    await post(`/api/runs/${cancelled.runId}/cancel`, {})
    await cleared()
    expect(await press('Approve')).toBe('The run of this call has ended, so the call is not made.')
  })
})

it('the buttons of a question go away when the time is over', { timeout: 120_000 }, async () => {
  const { ask, press, cleared, until } = await start('telegram', { timeout: '2s' })
  const { runId } = await ask({ by: 'nobody' })
  await until(runId, 'succeeded')
  await cleared()
  expect(await press('Approve')).toBe('The time to answer is over, so this call was denied.')
})

/** What an approver reads on a platform whose messages are HTML. */
const readText = (text: string): string =>
  text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
