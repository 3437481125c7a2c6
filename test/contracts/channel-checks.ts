// The checks of the channel contract, as functions: the suite runs them, and a test runs them on faulty channels.
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { isAuthError } from '../../core/plugin/errors.ts'
import { findFaults } from '../../core/loader/verify.ts'
import type { Channel, ChannelLimits, InboundMessage, SendResult } from '../../core/plugin/plugin.ts'
import { compileCheck } from '../../core/typebox.ts'
import { advise } from './advise.ts'
import { type PlayedGateway, playGateway } from './channel-gateway.ts'
import { goesThroughStates } from './channel-states.ts'
import type { AcceptedMessage, Platform, PlatformAbility } from './platform.ts'
import { createHostileArgs, questionFor, readQuestion } from './questions.ts'
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
  /** What to do if it fails. */
  advice: string
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
  const texts = async () => (await platform.messages()).map(({ text }) => text)
  const scene = { channel, platform, gateway, texts, waitMs, leftovers: resources.open }
  const failures: unknown[] = []
  const step = (advice: string, run: () => Promise<void> | void) =>
    advise(advice, run).catch((error: unknown) => void failures.push(error))
  await step(check.advice, async () => {
    await gateway.connect()
    await check.run(scene)
  })
  await step('Do not log secrets.', () => expectNoSecrets(gateway, gateway.log()))
  await step('Let `close` resolve as soon as everything has ended.', gateway.close)
  await step('The double could not be closed.', platform.close)
  resources.stop()
  if (failures.length > 0) throw failures[0]
}

function closingOnce<Config>(platform: Platform<Config>): Platform<Config> {
  let closed: Promise<void> | undefined
  return { ...platform, close: () => (closed ??= platform.close()) }
}

/** The advice is what an author reads first when the check fails. */
export function channelChecks<Config>(channel: Channel<Config>): ChannelCheck<Config>[] {
  const { idempotency, maxChoices, maxFileBytes, maxText } = channel.limits
  return [
    { name: 'is declared without fault', advice: 'Correct the declaration.', run: isDeclared },
    {
      name: 'has a target schema that accepts recipients and refuses blank ones',
      advice: 'Let `target` describe what `to` looks like, with a pattern.',
      run: checksTargets,
    },
    {
      name: 'rejects refused credentials with an AuthError',
      advice: 'Ask the platform in `connect` who the account is, and throw an AuthError if it refuses the credentials.',
      needs: ['badConfig'],
      run: rejectsCredentials,
    },
    ...sendChecks<Config>({ idempotency, sendsFiles: maxFileBytes !== undefined, showsQuestions: maxText >= 400 }),
    ...(maxChoices === undefined ? [] : choiceChecks<Config>()),
    ...receiveChecks<Config>(),
    {
      name: 'is connecting, connected, connected again after a loss, or refused',
      advice: 'Report the end of a connection with `context.lost`, and refused credentials with an AuthError.',
      run: goesThroughStates,
    },
    {
      name: 'receives nothing after close',
      advice: 'End every poll, socket and download in `close`, and wait until they have ended.',
      needs: ['disconnect', 'say'],
      run: endsReceiving,
    },
    {
      name: 'leaves no socket and no timer after close',
      advice: 'End every socket, process and timer in `close`.',
      run: leavesNothing,
    },
  ]
}

interface Sending {
  idempotency: ChannelLimits['idempotency']
  sendsFiles: boolean
  /** Whether a question to an approver fits into one message. */
  showsQuestions: boolean
}

function sendChecks<Config>({ idempotency, sendsFiles, showsQuestions }: Sending): ChannelCheck<Config>[] {
  return [
    {
      name: 'delivers messages complete and in order',
      advice: 'Send `text` to `to` as it is, and return `sent` when the platform has accepted it.',
      run: deliversInOrder,
    },
    {
      name: 'delivers a message of limits.maxText',
      advice: 'Let `limits.maxText` and `limits.unit` say what one message of the platform can hold.',
      run: deliversLongest,
    },
    ...(showsQuestions
      ? [
          {
            name: 'shows the arguments of a tool call as they are',
            advice: 'Escape the markup of the platform in `text`, or let `limits.format` name it.',
            run: showsArguments<Config>,
          },
        ]
      : []),
    ...(sendsFiles
      ? [
          {
            name: 'sends a file with its name, its bytes and its caption',
            advice: 'Send `file.data` as bytes under `file.name`, with `text` as its caption.',
            run: sendsFile<Config>,
          },
        ]
      : []),
    {
      name: 'shows that the agent is typing',
      advice: 'Let `typing` resolve when the platform knows.',
      run: showsTyping,
    },
    ...(idempotency === 'reconcile'
      ? [
          {
            name: 'reconciles messages by key',
            advice: 'Send `key` with the message, and let `reconcile` look for it.',
            run: reconciles<Config>,
          },
        ]
      : []),
    ...(idempotency === 'native'
      ? [
          {
            name: 'delivers one message per key',
            advice: 'Send `key` as the idempotency key of the platform, or change `limits.idempotency`.',
            run: deliversOncePerKey<Config>,
          },
        ]
      : []),
    {
      name: 'returns unknown when the response is lost, and does not send again',
      advice: 'Return what `resultOfError` makes of the error, and do not try again: the gateway decides about that.',
      needs: ['loseNextAnswer'],
      run: reportsLostAnswer,
    },
    {
      name: 'does not return failed when the platform answers 500 after the message was sent',
      advice: 'Return `unknown` for a status of 500 or more, as `resultOfResponse` does: the message may have arrived.',
      needs: ['answerNext'],
      run: reportsServerError,
    },
    {
      name: 'returns a permanent failure when the platform refuses the message with 400',
      advice: 'Return `failed` and `permanent` for 400, as `resultOfResponse` does: a repeated message fails again.',
      needs: ['answerNext'],
      run: reportsRefusal,
    },
    {
      name: 'returns the wait time of a rate limit and does not retry',
      advice: 'Return `rate` with `retryAfterMs`, at least as long as the platform asks, and do not try again.',
      needs: ['limitNext'],
      run: reportsRateLimit,
    },
    {
      name: 'returns a failure without secrets and texts when the platform is gone',
      advice: 'Return a `detail` of your own: no secret and no text of a message.',
      needs: ['loseNextAnswer'],
      run: reportsOutage,
    },
  ]
}

function choiceChecks<Config>(): ChannelCheck<Config>[] {
  return [
    {
      name: 'shows choices, and receives the one that is picked',
      advice: 'Send `choices` with the message, and pass the `text` of the one that is picked to `receive`.',
      needs: ['press'],
      run: receivesChoices,
    },
    {
      name: 'sends choices that are as many and as long as they may be',
      advice: 'Let `limits.maxChoices` say how many the platform accepts, and give it `label` and `text` whole.',
      needs: ['press'],
      run: sendsLongestChoices,
    },
    {
      name: 'removes choices',
      advice: 'Change the message in `removeChoices`, and keep its text; or leave `removeChoices` out.',
      needs: ['press'],
      run: removesChoices,
    },
  ]
}

function receiveChecks<Config>(): ChannelCheck<Config>[] {
  const confirmLater = 'Await `receive`, and confirm the message to the platform only when it resolves'
  const streamFiles = 'Return the answer of `fetch` or a stream from `read`, and read nothing before'
  return [
    {
      name: 'receives messages and sends replies',
      advice: "Give each message the platform's id and, as `to`, the recipient of a reply.",
      needs: ['say'],
      run: receivesAndReplies,
    },
    {
      name: 'receives messages in a thread, and sends replies there',
      advice: 'Give a message its thread as `threadId`, and send a message with `threadId` to that thread.',
      needs: ['sayInThread'],
      run: keepsThreads,
    },
    {
      name: 'does not receive an edited message as a new one',
      advice: 'Ignore edits, or give them the id of the message.',
      needs: ['say', 'edit'],
      run: ignoresEdits,
    },
    {
      name: 'marks messages in groups, and those that mention the account',
      advice: 'Set `group` and `mentioned`, and remove the mention from the text.',
      needs: ['sayInGroup'],
      run: marksGroups,
    },
    {
      name: 'hands over files',
      advice: 'Give each file of a message as an attachment with its name, its type and a `read` that downloads it.',
      needs: ['sayWithFile'],
      run: handsOverFiles,
    },
    {
      name: 'ends the download of a file that is larger than stated',
      advice: `${streamFiles}.`,
      needs: ['sayWithFile'],
      run: endsLargeDownloads,
    },
    {
      name: 'receives a message whose file cannot be downloaded whole',
      advice: `${streamFiles}: the gateway mentions a file that cannot be read. Let the double serve it with \`pipeline\`.`,
      needs: ['sayWithFile'],
      run: survivesBrokenDownloads,
    },
    {
      name: 'ignores messages of the account itself',
      advice: 'Compare the sender of a message with the account.',
      needs: ['say'],
      run: ignoresOwnMessages,
    },
    {
      name: 'receives what was said while the connection was lost, once',
      advice: 'Report a lost connection with `context.lost`, and fetch what was missed after the position in `state`.',
      needs: ['disconnect', 'say'],
      run: survivesDisconnects,
    },
    {
      name: 'receives what was said while nothing could be stored, in order',
      advice: `${confirmLater}, however long that takes.`,
      needs: ['say'],
      run: survivesOutages,
    },
    {
      name: 'receives a message again after a crash before it was stored',
      advice: `${confirmLater}. If it rejects, do not confirm: the platform has to send the message again.`,
      needs: ['say'],
      run: survivesCrash,
    },
    {
      name: 'connects while messages cannot be stored',
      advice: 'Do not await `receive` in `connect`: return the connection, and receive in the background.',
      needs: ['say'],
      run: connectsDuringOutage,
    },
  ]
}

async function isDeclared<Config>({ channel }: Scene<Config>) {
  expect(findFaults(channel)).toEqual([])
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

/** Whatever an agent writes into them: markup of the platform, fake codes, marks that change the direction of text. */
async function showsArguments<Config>({ channel, platform, gateway }: Scene<Config>) {
  let sent = 0
  for (const args of createHostileArgs(20)) {
    for (const chunk of await questionFor(args, channel.limits))
      expect(await gateway.send(chunk)).toMatchObject({ outcome: 'sent' })
    const all = await platform.messages()
    const asked = all.slice(sent)
    expect(
      readQuestion(
        asked.map(({ text }) => text),
        channel.limits,
      ),
    ).toEqual({ args, tool: 'launch' })
    expect(asked.flatMap(({ choices = [] }) => choices)).toEqual(channel.limits.maxChoices ? ['Approve', 'Deny'] : [])
    sent = all.length
  }
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

/** The bytes are no text, and the caption may be empty. */
async function sendsFile<Config>({ platform, gateway }: Scene<Config>) {
  const file = {
    name: 'report.pdf',
    type: 'application/pdf',
    data: Uint8Array.of(0x25, 0x50, 0x44, 0x46, 0, 0xff, 0x80),
  }
  const captions = ['The report.', '']
  for (const text of captions) expect(await gateway.send({ text, file })).toMatchObject({ outcome: 'sent' })
  const sent = (await platform.messages()).map(({ to, text, file }) => ({ to, text, file: describeFile(file) }))
  const content = describeFile({ name: file.name, content: file.data })
  expect(sent).toEqual(captions.map((text) => ({ to: platform.to, text, file: content })))
}

/** Each of them is a message, so the second one of the same choice is no duplicate. */
async function receivesChoices<Config>({ channel, platform, gateway }: Scene<Config>) {
  const choices = [
    { label: 'Yes', text: 'approve K7M2QXRT' },
    { label: 'No', text: 'deny K7M2QXRT' },
  ]
  expect(await gateway.send({ text: 'May I?', choices })).toMatchObject({ outcome: 'sent' })
  const [shown] = await platform.messages()
  expect(shown).toMatchObject({ to: platform.to, text: 'May I?', choices: ['Yes', 'No'] })
  const picked: InboundMessage[] = []
  for (const label of ['No', 'Yes', 'Yes']) {
    await platform.press?.(label)
    picked.push(await gateway.next())
  }
  expect(picked.map(({ text }) => text)).toEqual(['deny K7M2QXRT', 'approve K7M2QXRT', 'approve K7M2QXRT'])
  const [first] = picked
  if (!first) return
  expectKnownId(channel, 'sender', first.from.id)
  await reply(gateway, first)
}

async function sendsLongestChoices<Config>({ channel, platform, gateway }: Scene<Config>) {
  const { maxChoices = 0 } = channel.limits
  const choices = Array.from({ length: maxChoices }, (_, index) => {
    const number = String(index).padStart(4, '0')
    return { label: `${number}${'ä'.repeat(36)}`, text: `${number}${'🚀'.repeat(15)}` }
  })
  expect(await gateway.send({ text: 'Which?', choices })).toMatchObject({ outcome: 'sent' })
  const [shown] = await platform.messages()
  expect(shown?.choices).toEqual(choices.map(({ label }) => label))
  for (const { label, text } of choices) {
    await platform.press?.(label)
    expect((await gateway.next()).text).toBe(text)
  }
}

/** An app may still show them, so a late press is a message as well. */
async function removesChoices<Config>({ platform, gateway }: Scene<Config>) {
  const { removeChoices } = await gateway.connection()
  if (!removeChoices) return
  const message = { to: platform.to, text: '**May** I?' }
  const result = await gateway.send({ ...message, choices: [{ label: 'Yes', text: 'yes, you may' }] })
  if (result.outcome !== 'sent' || result.id === undefined) throw new Error('`send` must return the id of the message.')
  await removeChoices({ ...message, id: result.id })
  const [shown] = await platform.messages()
  expect(shown?.text).toBe(message.text)
  expect(shown?.choices ?? []).toEqual([])
  await platform.press?.('Yes')
  expect((await gateway.next()).text).toBe('yes, you may')
  await removeChoices({ ...message, id: result.id }).catch(() => undefined)
}

const describeFile = (file: AcceptedMessage['file']) =>
  file && { name: file.name, bytes: Buffer.from(file.content).toString('hex') }

async function showsTyping<Config>({ platform, gateway }: Scene<Config>) {
  const { typing } = await gateway.connection()
  for (const on of [true, false]) expect(await typing?.(platform.to, on)).toBeUndefined()
}

async function reconciles<Config>({ platform, gateway }: Scene<Config>) {
  const firstAttemptAt = Date.now()
  await gateway.send({ key: 'k', text: 'hello' })
  const connection = await gateway.connection()
  const uncertain = { to: platform.to, text: 'hello', firstAttemptAt }
  expect(await connection.reconcile?.({ ...uncertain, key: 'k' })).toBe('sent')
  expect(await connection.reconcile?.({ ...uncertain, key: 'other', text: 'bye' })).toBe('absent')
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

/** A channel whose platform drops repeated keys may send again, and then know that the message is there. */
async function reportsServerError<Config>({ platform, gateway, texts }: Scene<Config>) {
  platform.answerNext?.(500)
  const result = await gateway.send({ text: 'canary text' })
  expect(result.outcome).not.toBe('failed')
  expectCleanDetail(gateway, result)
  expect(await texts()).toEqual(['canary text'])
}

async function reportsRefusal<Config>({ platform, gateway, texts }: Scene<Config>) {
  platform.answerNext?.(400)
  const result = await gateway.send({ text: 'canary text' })
  expect(result).toMatchObject({ outcome: 'failed', reason: 'permanent' })
  expectCleanDetail(gateway, result)
  expect(await gateway.send({ text: 'next' })).toMatchObject({ outcome: 'sent' })
  expect(await texts()).toEqual(['next'])
}

async function reportsRateLimit<Config>({ platform, gateway, texts }: Scene<Config>) {
  platform.limitNext?.(2000)
  const result = await gateway.send({ text: 'canary text' })
  expect(result).toMatchObject({ outcome: 'failed', reason: 'rate', retryAfterMs: expect.any(Number) })
  const { retryAfterMs } = result as { retryAfterMs: number }
  expect(retryAfterMs, 'shorter than the platform asks').toBeGreaterThanOrEqual(2000)
  expect(retryAfterMs, 'much longer than the platform asks').toBeLessThanOrEqual(60_000)
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
  await reply(gateway, first)
  expect(await texts()).toEqual(['hello'])
}

async function reply(gateway: PlayedGateway, { to, threadId, route }: InboundMessage) {
  const target = { to, ...(threadId !== undefined && { threadId }), ...(route !== undefined && { route }) }
  expect(await gateway.send({ ...target, text: 'hello' })).toMatchObject({ outcome: 'sent' })
}

async function keepsThreads<Config>({ platform, gateway }: Scene<Config>) {
  await platform.sayInThread?.('in a thread')
  const message = await gateway.next()
  expect(message).toMatchObject({ text: 'in a thread', threadId: expect.any(String) })
  await reply(gateway, message)
  const sent = (await platform.messages()).map(({ to, threadId, text }) => ({ to, threadId, text }))
  expect(sent).toEqual([{ to: message.to, threadId: message.threadId, text: 'hello' }])
}

async function ignoresEdits<Config>({ platform, gateway }: Scene<Config>) {
  await expectNext({ platform, gateway }, 'first')
  await platform.edit?.('first, corrected')
  await expectNext({ platform, gateway }, 'later')
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

/** The message comes again with the new connection, which must be there before it is stored. */
async function connectsDuringOutage<Config>({ platform, gateway }: Scene<Config>) {
  await expectNext({ platform, gateway }, 'before')
  const held = gateway.holdNext()
  const said = platform.say?.('hello')
  await held.message
  const heldAgain = gateway.holdNext()
  await gateway.crash(held)
  await heldAgain.message
  heldAgain.fail()
  expect((await gateway.next()).text).toBe('hello')
  await said
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
