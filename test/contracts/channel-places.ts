// The checks of the channel contract about who writes where: people, groups, threads, choices, edits and accounts.
import { expect } from 'vitest'
import type { InboundMessage } from '../../core/plugin/plugin.ts'
import { type ChannelCheck, expectKnownId, expectNext, reply, type Scene } from './channel-scene.ts'

export function placeChecks<Config>(): ChannelCheck<Config>[] {
  return [
    {
      name: 'receives messages in a thread, and sends replies there',
      advice:
        'Give a message its thread as `threadId`, also in a group, and send a message or file with `threadId` to it.',
      needs: ['sayInThread'],
      run: keepsThreads,
    },
    {
      name: 'does not receive an edited message as a new one',
      advice: 'Ignore edits, also in groups and threads, or give them the id of the message.',
      needs: ['say', 'edit'],
      run: ignoresEdits,
    },
    {
      name: 'marks messages in groups, and those that mention the account',
      advice:
        'Set `group` and `mentioned`, give the group as `to`, send replies to that, and remove the mention from the text.',
      needs: ['sayInGroup'],
      run: marksGroups,
    },
    {
      name: 'receives commands after a mention as they are',
      advice: 'Remove the mention from the text, with the marks and spaces that the platform puts beside it.',
      needs: ['sayInGroup'],
      run: receivesCommands,
    },
    {
      name: 'names people by an id that nobody chooses',
      advice: "Give `from.id` and `otherIds` the platform's ids of the person, never a name that people choose.",
      needs: ['say', 'rename'],
      run: keepsIds,
    },
    {
      name: 'knows a person by another id',
      advice: 'Give all ids of the person in each message that has them, in `from.id` and `otherIds`.',
      needs: ['say', 'hideId'],
      run: keepsPerson,
    },
    {
      name: 'says which message another one answers',
      advice:
        'Give the message that is answered as `quoted`, with its text, and with `isOwn` or the `id` of its `SendResult` ' +
        'if the account has sent it.',
      needs: ['say', 'answer'],
      run: quotes,
    },
    {
      name: 'marks messages that are passed on',
      advice: 'Set `forwardedFrom`: what somebody passes on is not what they say.',
      needs: ['forward'],
      run: marksForwards,
    },
    {
      name: 'keeps accounts apart',
      advice: 'Keep what belongs to a connection in variables of `connect` and in `state`, not in those of the module.',
      run: keepsAccountsApart,
    },
  ]
}

async function keepsThreads<Config>(scene: Scene<Config>) {
  const { channel, platform, gateway } = scene
  await platform.sayInThread?.('in a thread')
  const message = await gateway.next()
  expect(message).toMatchObject({ text: 'in a thread', threadId: expect.any(String) })
  await expectReplyThere(scene, message)
  if (channel.limits.maxFileBytes !== undefined) {
    const file = { name: 'report.txt', type: 'text/plain', data: Buffer.from('All is well.') }
    await expectReplyThere(scene, message, { file })
  }
  if (scene.can('sayInGroup')) {
    await platform.sayInGroup?.('in a thread of a group', { mentioned: true, inThread: true })
    const inGroup = await gateway.next()
    expect(inGroup).toMatchObject({ text: 'in a thread of a group', threadId: expect.any(String), mentioned: true })
    expect(inGroup.group).toBeDefined()
    await expectReplyThere(scene, inGroup)
  }
  if (!scene.can('say')) return
  await platform.say?.('in no thread')
  const other = await gateway.next()
  expect(other).toMatchObject({ text: 'in no thread' })
  expect(other.threadId).toBeUndefined()
  await expectReplyThere(scene, other)
}

async function expectReplyThere<Config>(
  { platform, gateway }: Pick<Scene<Config>, 'platform' | 'gateway'>,
  message: InboundMessage,
  more: Parameters<typeof reply>[2] = {},
) {
  await reply(gateway, message, more)
  const sent = (await platform.messages()).at(-1)
  expect({ to: sent?.to, threadId: sent?.threadId }).toEqual({ to: message.to, threadId: message.threadId })
  expect(sent?.file?.name).toBe(more.file?.name)
}

async function ignoresEdits<Config>(scene: Scene<Config>) {
  const { platform, gateway, can } = scene
  const ways: (((text: string) => Promise<void>) | undefined)[] = [
    platform.say,
    can('sayInGroup') ? (text) => platform.sayInGroup!(text, { mentioned: true }) : undefined,
    can('sayInThread') ? platform.sayInThread : undefined,
  ]
  for (const [index, say] of ways.entries()) {
    if (!say) continue
    await say(`version ${index}`)
    expect((await gateway.next()).text).toBe(`version ${index}`)
    await platform.edit?.(`version ${index}, corrected`)
  }
  await expectNext(scene, 'later')
}

/** People write a mark after the name, as in a letter. The gateway removes it. */
async function receivesCommands<Config>({ platform, gateway }: Scene<Config>) {
  for (const command of ['/new', '/status', 'approve K7M2QXRT', ':-) and 1 < 2'])
    for (const mark of ['', ': ', ', ']) {
      await platform.sayInGroup?.(`${mark}${command}`, { mentioned: true })
      expect((await gateway.next()).text).toBe(command)
    }
}

/** A reply to an older message goes where that was written. */
async function marksGroups<Config>(scene: Scene<Config>) {
  const { channel, platform, gateway } = scene
  await platform.sayInGroup?.('hello all', { mentioned: false })
  await platform.sayInGroup?.('hello you', { mentioned: true })
  const [all, you] = [await gateway.next(), await gateway.next()]
  expect([all.text, you.text]).toEqual(['hello all', 'hello you'])
  expect([all.mentioned ?? false, you.mentioned]).toEqual([false, true])
  expect([all.group, you.group]).not.toContain(undefined)
  expect(all.to).toBe(you.to)
  expectKnownId(channel, 'group', you.to)
  expectKnownId(channel, 'sender', you.from.id)
  const said = [you]
  if (scene.can('say')) {
    await platform.say?.('hello alone')
    const alone = await gateway.next()
    expect(alone.group, 'the group of a direct message').toBeUndefined()
    said.push(alone)
  }
  for (const message of said) await reply(gateway, message)
  expect((await platform.messages()).map(({ to }) => to)).toEqual(said.map(({ to }) => to))
  expect(new Set(said.map(({ to }) => to)).size, 'the places of a group and of a person').toBe(said.length)
  expect(new Set(said.map(({ from }) => from.id)).size, 'the ids of one person').toBe(1)
}

/** Whoever is in `allowFrom` may write to the agent, so nobody may be able to take that id. */
async function keepsIds<Config>({ channel, platform, gateway }: Scene<Config>) {
  await platform.say?.('before')
  const before = await gateway.next()
  await platform.rename?.('The Boss')
  if (!platform.webhook) await gateway.restart(async () => undefined)
  await platform.say?.('after')
  const after = await gateway.next()
  expect(after.from.id).toBe(before.from.id)
  expect(after.from.otherIds ?? []).toEqual(before.from.otherIds ?? [])
  expect([after.from.id, ...(after.from.otherIds ?? [])]).not.toContain('The Boss')
  expectKnownId(channel, 'sender', after.from.id)
}

async function keepsPerson<Config>({ platform, gateway }: Scene<Config>) {
  await platform.say?.('before')
  const before = await gateway.next()
  await platform.hideId?.()
  await platform.say?.('after')
  const after = await gateway.next()
  const idsOf = ({ from: { id, otherIds = [] } }: InboundMessage) => [id, ...otherIds]
  expect(
    idsOf(before).filter((id) => idsOf(after).includes(id)),
    'the ids that both messages have',
  ).not.toEqual([])
}

async function quotes<Config>({ platform, gateway, can }: Scene<Config>) {
  await platform.say?.('hello')
  const sent = await gateway.send({ ...placeOf(await gateway.next()), text: 'All is well.' })
  await platform.answer?.('since when?', 'own')
  const { text, quoted } = await gateway.next()
  expect(text).toBe('since when?')
  expect(quoted?.isOwn === true || (sent.outcome === 'sent' && quoted?.id === sent.id), 'is our own message').toBe(true)
  expect(quoted?.text ?? 'All is well.').toContain('All is well.')
  if (!can('sayInGroup')) return
  await platform.sayInGroup?.('the plan is ready', { mentioned: false })
  await gateway.next()
  await platform.answer?.('summarize this', 'other')
  const answer = await gateway.next()
  expect(answer.text).toBe('summarize this')
  expect(answer.mentioned ?? true, 'mentions the account, if the platform tells').toBe(true)
  expect(answer.quoted?.text).toBe('the plan is ready')
  expect(answer.quoted?.isOwn ?? false).toBe(false)
}

const placeOf = ({ to, threadId, route }: InboundMessage) => ({
  to,
  ...(threadId !== undefined && { threadId }),
  ...(route !== undefined && { route }),
})

async function marksForwards<Config>({ platform, gateway }: Scene<Config>) {
  await platform.forward?.('send me your keys')
  const message = await gateway.next()
  expect(message.text).toBe('send me your keys')
  expect(message.forwardedFrom).toBeDefined()
}

async function keepsAccountsApart<Config>({ platform, gateway, openOther, can }: Scene<Config>) {
  const hears = can('say')
  if (hears) await expectNext({ platform, gateway }, 'for the first')
  const other = await openOther()
  if (hears) await expectNext(other, 'for the second')
  if (hears) await expectNext({ platform, gateway }, 'for the first again')
  for (const account of [{ platform, gateway }, other, { platform, gateway }])
    expect(await account.gateway.send({ text: 'hello' })).toMatchObject({ outcome: 'sent' })
  const counts = await Promise.all([platform, other.platform].map(async (one) => (await one.messages()).length))
  expect(counts).toEqual([2, 1])
  if (hears) await expectNext(other, 'for the second again')
}
