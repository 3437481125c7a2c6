// The checks of the channel contract, as functions: the suite runs them, and a test runs them on faulty channels.
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { isAuthError } from '../../core/plugin/errors.ts'
import { findFault } from '../../core/loader/verify.ts'
import type { Channel, ChannelLimits, SendResult } from '../../core/plugin/plugin.ts'
import { compileCheck } from '../../core/typebox.ts'
import { type PlayedGateway, playGateway } from './channel-gateway.ts'
import { goesThroughStates } from './channel-states.ts'
import type { Platform, PlatformAbility } from './platform.ts'
import { createFile } from './said-file.ts'
import { trackResources } from './resources.ts'

export interface Scene<Config> {
  channel: Channel<Config>
  platform: Platform<Config>
  gateway: PlayedGateway
  texts(): Promise<string[]>
  /** Sockets, processes and timers since the platform was opened that keep the process alive. */
  leftovers(): string[]
  waitMs: number
}

export interface ChannelCheck<Config> {
  name: string
  /** What the double must be able to do. */
  needs?: readonly PlatformAbility[]
  run(scene: Scene<Config>): Promise<void>
}

interface Setup<Config> {
  channel: Channel<Config>
  openPlatform(): Promise<Platform<Config>>
  /** How long to wait for what must happen. */
  waitMs?: number
}

/** Runs one check on a new platform with a new connection, and closes both. */
export async function runCheck<Config>(check: ChannelCheck<Config>, setup: Setup<Config>): Promise<void> {
  const { channel, waitMs = 10_000 } = setup
  const resources = trackResources()
  const platform = closingOnce(await setup.openPlatform())
  const missing = check.needs?.find((need) => platform[need] === undefined)
  if (missing !== undefined) {
    await platform.close()
    resources.stop()
    throw new Error(`The double has no "${missing}". Add it, or name it in "without" if the channel cannot do this.`)
  }
  const gateway = playGateway({ channel, config: platform.config, to: platform.to, waitMs })
  platform.webhook?.(gateway.handle)
  try {
    await gateway.connect()
    const texts = async () => (await platform.messages()).map(({ text }) => text)
    await check.run({ channel, platform, gateway, texts, waitMs, leftovers: resources.open })
    expectNoSecrets(gateway, gateway.log())
  } finally {
    try {
      await gateway.close()
    } finally {
      await platform.close()
      resources.stop()
    }
  }
  return undefined
}

function closingOnce<Config>(platform: Platform<Config>): Platform<Config> {
  let closed: Promise<void> | undefined
  return { ...platform, close: () => (closed ??= platform.close()) }
}

export function channelChecks<Config>(channel: Channel<Config>): ChannelCheck<Config>[] {
  return [
    { name: 'is declared without fault', run: isDeclared },
    { name: 'has a target schema that accepts recipients and refuses blank ones', run: checksTargets },
    { name: 'rejects refused credentials with an AuthError', needs: ['badConfig'], run: rejectsCredentials },
    { name: 'delivers messages complete and in order', run: deliversInOrder },
    { name: 'delivers a message of limits.maxText', run: deliversLongest },
    ...(channel.limits.maxFileBytes ? [{ name: 'sends a file', run: sendsFile<Config> }] : []),
    { name: 'shows that the agent is typing', run: showsTyping },
    ...(channel.limits.idempotency === 'reconcile'
      ? [{ name: 'reconciles messages by key', run: reconciles<Config> }]
      : []),
    ...(channel.limits.idempotency === 'native'
      ? [{ name: 'delivers one message per key', run: deliversOncePerKey<Config> }]
      : []),
    {
      name: 'returns unknown when the response is lost, and does not send again',
      needs: ['loseNextAnswer'],
      run: reportsLostAnswer,
    },
    { name: 'returns the wait time of a rate limit and does not retry', needs: ['limitNext'], run: reportsRateLimit },
    {
      name: 'returns a failure without secrets and texts when the platform is gone',
      needs: ['loseNextAnswer'],
      run: reportsOutage,
    },
    { name: 'receives messages and sends replies', needs: ['say'], run: receivesAndReplies },
    { name: 'marks messages in groups, and those that mention the account', needs: ['sayInGroup'], run: marksGroups },
    { name: 'hands over files', needs: ['sayWithFile'], run: handsOverFiles },
    { name: 'ends the download of a file that is larger than stated', needs: ['sayWithFile'], run: endsLargeDownloads },
    {
      name: 'receives a message whose file cannot be downloaded whole',
      needs: ['sayWithFile'],
      run: survivesBrokenDownloads,
    },
    { name: 'ignores messages of the account itself', needs: ['say'], run: ignoresOwnMessages },
    {
      name: 'receives what was said while the connection was lost, once',
      needs: ['disconnect', 'say'],
      run: survivesDisconnects,
    },
    {
      name: 'receives what was said while nothing could be stored, in order',
      needs: ['say'],
      run: survivesOutages,
    },
    {
      name: 'receives a message again after a crash before it was stored',
      needs: ['disconnect', 'say'],
      run: survivesCrash,
    },
    { name: 'is connecting, connected, connected again after a loss, or refused', run: goesThroughStates },
    { name: 'receives nothing after close', needs: ['disconnect', 'say'], run: endsReceiving },
    { name: 'leaves no socket and no timer after close', run: leavesNothing },
  ]
}

async function isDeclared<Config>({ channel }: Scene<Config>) {
  expect(findFault(channel, { compile: true })).toBeUndefined()
}

async function checksTargets<Config>({ channel, platform }: Scene<Config>) {
  const target = compileCheck(channel.target)
  expect([platform.to, '', ' '].map((to) => target.fits(to))).toEqual([true, false, false])
}

async function rejectsCredentials<Config>({ channel, platform, gateway, waitMs }: Scene<Config>) {
  const bad = playGateway({ channel, config: platform.badConfig as Config, to: platform.to, waitMs })
  const error: unknown = await bad.connect().then(
    () => undefined,
    (error: unknown) => error,
  )
  await bad.close()
  expect(isAuthError(error), `connect must reject with an AuthError, but gave ${String(error)}`).toBe(true)
  for (const { secrets } of [bad, gateway])
    for (const secret of secrets) expect(`${String(error)} ${bad.log()}`).not.toContain(secret)
}

async function deliversInOrder<Config>({ channel, platform, gateway, texts }: Scene<Config>) {
  const sent = ['one', awkwardText(channel.limits), 'a\nsecond line']
  for (const text of sent) expect(await gateway.send({ text })).toMatchObject({ outcome: 'sent' })
  expect(await texts()).toEqual(sent)
  expect((await platform.messages()).every(({ to }) => to === platform.to)).toBe(true)
}

/** The gateway escapes what is HTML before it calls `send`. */
const awkwardText = ({ format }: ChannelLimits): string =>
  format === 'html'
    ? 'Zwei: äöü 漢字 👩‍🚀 "quoted" <b>&lt;&amp;</b> \\ $&amp;'
    : 'Zwei: äöü 漢字 👩‍🚀 "quoted" <b>&amp;</b> \\ $&'

async function deliversLongest<Config>({ channel, gateway, texts }: Scene<Config>) {
  const { maxText, unit } = channel.limits
  // '🚀' is one code point, two UTF-16 units and four bytes.
  const width = { utf16: 2, codepoints: 1, bytes: 4 }[unit ?? 'utf16']
  const longest = ['x'.repeat(maxText), '🚀'.repeat(maxText / width)]
  for (const text of longest) expect(await gateway.send({ text })).toMatchObject({ outcome: 'sent' })
  expect((await texts()).map((text) => text.length)).toEqual(longest.map(({ length }) => length))
  expect(await texts()).toEqual(longest)
}

async function sendsFile<Config>({ gateway }: Scene<Config>) {
  const file = { name: 'report.txt', type: 'text/plain', data: new TextEncoder().encode('All is well.') }
  expect(await gateway.send({ text: 'The report.', file })).toMatchObject({ outcome: 'sent' })
}

async function showsTyping<Config>({ platform, gateway }: Scene<Config>) {
  const { typing } = await gateway.connection()
  for (const on of [true, false]) expect(await typing?.(platform.to, on)).toBeUndefined()
}

async function reconciles<Config>({ platform, gateway }: Scene<Config>) {
  await gateway.send({ key: 'k', text: 'hello' })
  const connection = await gateway.connection()
  expect(await connection.reconcile?.('k', platform.to)).toBe('sent')
  expect(await connection.reconcile?.('other', platform.to)).toBe('absent')
}

async function deliversOncePerKey<Config>({ gateway, texts }: Scene<Config>) {
  await gateway.send({ key: 'k', text: 'hello' })
  await gateway.send({ key: 'k', text: 'hello' })
  expect(await texts()).toEqual(['hello'])
}

async function reportsLostAnswer<Config>({ platform, gateway, texts }: Scene<Config>) {
  platform.loseNextAnswer?.()
  const result = await gateway.send({ text: 'canary text' })
  expect(result).toMatchObject({ outcome: 'unknown' })
  expectCleanDetail(gateway, result)
  expect(await gateway.send({ text: 'next' })).toMatchObject({ outcome: 'sent' })
  expect(await texts()).toEqual(['canary text', 'next'])
}

async function reportsRateLimit<Config>({ platform, gateway, texts }: Scene<Config>) {
  platform.limitNext?.(2000)
  const result = await gateway.send({ text: 'canary text' })
  expect(result).toMatchObject({ outcome: 'failed', reason: 'rate', retryAfterMs: 2000 })
  expectCleanDetail(gateway, result)
  expect(await gateway.send({ text: 'next' })).toMatchObject({ outcome: 'sent' })
  expect(await texts()).toEqual(['next'])
}

async function reportsOutage<Config>({ channel, platform, gateway }: Scene<Config>) {
  const connection = await gateway.connection()
  await platform.close()
  const result = await connection.send({ key: 'k', to: platform.to, text: 'canary text' })
  expect(result.outcome, `${channel.name} has sent something`).not.toBe('sent')
  expectCleanDetail(gateway, result)
}

function expectCleanDetail(gateway: PlayedGateway, result: SendResult) {
  expectNoSecrets(gateway, JSON.stringify(result))
  expect(JSON.stringify(result)).not.toContain('canary text')
}

function expectNoSecrets({ secrets }: PlayedGateway, text: string) {
  for (const secret of secrets) expect(text).not.toContain(secret)
}

async function receivesAndReplies<Config>({ channel, platform, gateway, texts }: Scene<Config>) {
  await platform.say?.('first')
  await platform.say?.('second')
  const [first, second] = [await gateway.next(), await gateway.next()]
  expect([first.text, second.text]).toEqual(['first', 'second'])
  expect(first.id).not.toBe(second.id)
  expectKnownId(channel, 'sender', first.from.id)
  expect(first.group).toBeUndefined()
  const { to, threadId, route } = first
  const reply = {
    to,
    text: 'hello',
    ...(threadId !== undefined && { threadId }),
    ...(route !== undefined && { route }),
  }
  expect(await gateway.send(reply)).toMatchObject({ outcome: 'sent' })
  expect(await texts()).toEqual(['hello'])
}

async function marksGroups<Config>({ channel, platform, gateway }: Scene<Config>) {
  await platform.sayInGroup?.('hello all', { mentioned: false })
  await platform.sayInGroup?.('hello you', { mentioned: true })
  const [all, you] = [await gateway.next(), await gateway.next()]
  expect([all.text, you.text]).toEqual(['hello all', 'hello you'])
  expect([all.mentioned ?? false, you.mentioned]).toEqual([false, true])
  expect([all.group, you.group]).not.toContain(undefined)
  expect(all.to).toBe(you.to)
  expectKnownId(channel, 'group', you.to)
}

/** The operator can list the id, in the form in which messages have it. */
function expectKnownId<Config>(channel: Channel<Config>, kind: 'sender' | 'group', id: string) {
  expect(id.trim()).not.toBe('')
  expect(channel.normalizeId?.(id) ?? id).toBe(id)
  expect(channel[kind] === undefined || compileCheck(channel[kind]).fits(id), `${kind} must allow "${id}"`).toBe(true)
}

async function handsOverFiles<Config>({ platform, gateway }: Scene<Config>) {
  const { file } = createFile({ bytes: 100_000 })
  await platform.sayWithFile?.('See the plan.', { ...file, size: 100_000 })
  expect((await gateway.next()).text).toMatch(
    /^See the plan\.\n\n\[Attached file: plan\.txt, .*; stored in your workspace /,
  )
  expect(gateway.files.map((data) => Buffer.from(data).toString())).toEqual(['x'.repeat(100_000)])
}

/** The platform, or a person, says that the file has five bytes. */
async function endsLargeDownloads<Config>({ platform, gateway }: Scene<Config>) {
  const { file, served } = createFile({ bytes: 128 * MiB })
  await platform.sayWithFile?.('See the plan.', file)
  expect((await gateway.next()).text).toMatch(
    /^See the plan\.\n\n\[Attached file: plan\.txt, .*; not stored, because it is larger than 20\.0 MiB\]$/,
  )
  // What was under way when the download ended counts, too.
  expect(served.bytes).toBeLessThan(64 * MiB)
  expect(gateway.files).toEqual([])
}

const MiB = 1024 * 1024

async function survivesBrokenDownloads<Config>({ platform, gateway }: Scene<Config>) {
  const { file } = createFile({ bytes: MiB, breaksOff: true })
  await platform.sayWithFile?.('See the plan.', file)
  expect((await gateway.next()).text).toMatch(/^See the plan\.\n\n\[Attached file: plan\.txt, /)
  if (platform.say) await expectNext({ platform, gateway }, 'later')
}

async function ignoresOwnMessages<Config>({ platform, gateway }: Scene<Config>) {
  await gateway.send({ text: 'sent by the gateway' })
  await platform.echo?.('written by the account')
  await platform.say?.('written by somebody')
  expect((await gateway.next()).text).toBe('written by somebody')
}

async function survivesDisconnects<Config>({ platform, gateway, texts }: Scene<Config>) {
  await platform.say?.('zero')
  expect((await gateway.next()).text).toBe('zero')
  for (const text of ['one', 'two']) {
    await platform.disconnect?.()
    await platform.say?.(text)
    expect((await gateway.next()).text).toBe(text)
  }
  expect(await gateway.send({ text: 'hello' })).toMatchObject({ outcome: 'sent' })
  expect(await texts()).toEqual(['hello'])
}

async function survivesOutages<Config>({ platform, gateway }: Scene<Config>) {
  const held = gateway.holdNext()
  const saidFirst = platform.say?.('first')
  const { id } = await held.message
  held.fail()
  await immediate()
  const saidSecond = platform.say?.('second')
  expect(await gateway.next()).toMatchObject({ id, text: 'first' })
  expect((await gateway.next()).text).toBe('second')
  await Promise.all([saidFirst, saidSecond])
  await expectNext({ platform, gateway }, 'later')
}

async function survivesCrash<Config>({ platform, gateway }: Scene<Config>) {
  const held = gateway.holdNext()
  const said = platform.say?.('hello')
  const { id } = await held.message
  await gateway.crash(held)
  expect(await gateway.next()).toMatchObject({ id, text: 'hello' })
  await said
  await expectNext({ platform, gateway }, 'later')
}

/** Says something, and expects that nothing else is received before it. */
async function expectNext<Config>({ platform, gateway }: Pick<Scene<Config>, 'platform' | 'gateway'>, text: string) {
  await platform.say?.(text)
  expect((await gateway.next()).text).toBe(text)
}

async function endsReceiving<Config>({ channel, platform, gateway, waitMs }: Scene<Config>) {
  await platform.say?.('before')
  expect((await gateway.next()).text).toBe('before')
  await gateway.close()
  const after = playGateway({ channel, config: platform.config, to: platform.to, waitMs })
  try {
    await after.connect()
    await platform.say?.('after')
    while ((await after.next()).text !== 'after');
    expect(gateway.late).toEqual([])
  } finally {
    await after.close()
  }
}

async function leavesNothing<Config>({ platform, gateway, leftovers, waitMs }: Scene<Config>) {
  await gateway.send({ text: 'hello' })
  await platform.say?.('hello')
  if (platform.say) await gateway.next()
  await gateway.close()
  await platform.close()
  for (const end = Date.now() + waitMs; leftovers().length > 0 && Date.now() < end;) await settle()
  expect(leftovers(), 'what still keeps the process alive').toEqual([])
}

/** The timer of this pause itself counts until the second turn of the event loop after it. */
async function settle(): Promise<void> {
  await delay(10)
  await immediate()
  await immediate()
}
