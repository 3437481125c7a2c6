// The checks of the channel contract, as functions: the suite runs them, and a test runs them on faulty channels.
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { isAuthError } from '../../core/plugin/errors.ts'
import { splitIntoChunks } from '../../core/delivery/format/chunks.ts'
import { findFaults } from '../../core/loader/verify.ts'
import type { Channel, ChannelLimits, InboundMessage } from '../../core/plugin/plugin.ts'
import { compileCheck } from '../../core/typebox.ts'
import { fileChecks } from './channel-files.ts'
import { forgeryCheck } from './channel-forgeries.ts'
import { type HeldMessage, playGateway } from './channel-gateway.ts'
import { placeChecks } from './channel-places.ts'
import {
  canary,
  type ChannelCheck,
  expectCleanDetail,
  expectKnownId,
  expectNext,
  expectNoSecrets,
  logAdvice,
  reply,
  type Scene,
} from './channel-scene.ts'
import { goesThroughStates } from './channel-states.ts'
import { duringOutage } from './outside.ts'
import type { AcceptedMessage, PlatformAbility } from './platform.ts'
import { createHostileArgs, questionFor, readQuestion } from './questions.ts'
import { createFile } from './said-file.ts'

/** The advice is what an author reads first when the check fails. */
export function channelChecks<Config>(channel: Channel<Config>): ChannelCheck<Config>[] {
  const { idempotency, maxChoices, maxFileBytes, maxText } = channel.limits
  return [
    { name: 'is declared without fault', advice: 'Correct the declaration.', isOffline: true, run: isDeclared },
    {
      name: 'has a target schema that accepts recipients and refuses blank ones',
      advice: 'Let `target` describe what `to` looks like, with a pattern.',
      isOffline: true,
      run: checksTargets,
    },
    {
      name: 'rejects refused credentials with an AuthError',
      advice:
        'Ask the platform in `connect` who the account is, and throw an AuthError only if it refuses the credentials: ' +
        'the gateway connects again after any other error.',
      needs: ['badConfig'],
      run: rejectsCredentials,
    },
    ...sendChecks<Config>({ idempotency, sendsFiles: maxFileBytes !== undefined, showsQuestions: maxText >= 400 }),
    ...(maxChoices === undefined ? [] : choiceChecks<Config>()),
    ...receiveChecks<Config>(),
    ...placeChecks<Config>(),
    ...fileChecks<Config>(),
    forgeryCheck(),
    {
      name: 'keeps texts out of the log',
      advice: logAdvice,
      run: keepsTextsOutOfLog,
    },
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
      advice:
        'Send `text` to `to` as it is, whatever is sent at the same time, and return `sent` when the platform has ' +
        'accepted it.',
      run: deliversInOrder,
    },
    {
      name: 'lets nobody fetch an address before it is opened',
      advice:
        'Switch off the previews of links, also beside files and choices. If the platform cannot do that beside a file, ' +
        'set `limits.maxCaption` to 0.',
      run: preventsFetches,
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
            advice: 'Send `key` with the message, also with a file or in a thread, and let `reconcile` look for it.',
            run: reconciles<Config>,
          },
          {
            name: 'does not reconcile while the platform is away',
            advice: 'Let `reconcile` reject if the platform cannot be asked: after `absent` the message is sent again.',
            run: reconcilesLater<Config>,
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
      name: 'returns the class of 401, 404 and 503',
      advice: 'Return `auth` for 401, `permanent` for 404 and `transient` for 503, as `resultOfResponse` does.',
      needs: ['answerNext'],
      run: reportsClasses,
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
      advice:
        'Send `choices` with the message, and pass the `text` of the one that is picked to `receive`, in a group with ' +
        '`group` and `mentioned`.',
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
  return [
    {
      name: 'receives messages and sends replies',
      advice: "Give each message the platform's id, its whole text and, as `to`, the recipient of a reply.",
      needs: ['say'],
      run: receivesAndReplies,
    },
    {
      name: 'ignores messages of the account itself',
      advice: 'Compare the sender of a message with the account.',
      needs: ['say'],
      run: ignoresOwnMessages,
    },
    {
      name: 'receives every message of a burst in order, also after a loss',
      advice: 'Pass every message to `receive`, oldest first and one after the other, also of what was missed.',
      needs: ['say'],
      run: survivesBursts,
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
      name: 'confirms a message that the gateway ignores',
      advice: 'Confirm a message whenever `receive` resolves, also with `ignored` or `duplicate`.',
      needs: ['say'],
      run: confirmsIgnored,
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
  for (const one of [bad, gateway]) expectNoSecrets(one, `${String(error)} ${bad.log()}`)
  await gateway.close()
  await platform.close()
  const away = playGateway({ channel, config: platform.config, to: platform.to, waitMs })
  const outage: unknown = await away.connect().catch((error: unknown) => error)
  await away.close()
  expect(isAuthError(outage), `an outage is no refusal, but connect rejected with ${String(outage)}`).toBe(false)
  expectNoSecrets(away, `${String(outage)} ${away.log()}`)
}

async function deliversInOrder<Config>({ channel, platform, gateway, texts }: Scene<Config>) {
  const sent = ['one', awkwardText(channel.limits), 'a\nsecond line']
  for (const text of sent) expect(await gateway.send({ text })).toMatchObject({ outcome: 'sent' })
  expect(await texts()).toEqual(sent)
  // Of other conversations, for example.
  const together = ['two', 'three', 'four', 'five', 'six']
  const results = await Promise.all(together.map((text) => gateway.send({ text })))
  expect(results.map(({ outcome }) => outcome)).toEqual(together.map(() => 'sent'))
  expect((await texts()).slice(sent.length).toSorted()).toEqual(together.toSorted())
  expect((await platform.messages()).every(({ to }) => to === platform.to)).toBe(true)
}

/** What a model writes that obeys a hostile text, in every way in which a text goes out. */
async function preventsFetches<Config>({ channel, platform, gateway }: Scene<Config>) {
  const { limits } = channel
  const text =
    'See https://evil.example/?q=1 and ![x](https://evil.example/?q=2) and <img src="https://evil.example/3">'
  const file = { name: 'a.txt', type: 'text/plain', data: Uint8Array.of(65) }
  const extras = [
    {},
    ...(limits.maxFileBytes !== undefined && takesCaptions(limits) ? [{ file }] : []),
    ...(limits.maxChoices ? [{ choices: [{ label: 'Yes', text: 'yes' }] }] : []),
  ]
  for (const extra of extras)
    for (const chunk of await splitIntoChunks(text, limits)) {
      const result = await gateway.send({ ...chunk, ...extra })
      expect(result).toMatchObject({ outcome: 'sent' })
      const { removeChoices } = await gateway.connection()
      if ('choices' in extra && 'id' in result && result.id !== undefined)
        await removeChoices?.({ id: result.id, to: platform.to, ...chunk })
    }
  const fetches = (await platform.messages()).flatMap((message) => message.fetches ?? [])
  expect(fetches, 'addresses that are fetched before anybody opens them').toEqual([])
}

const takesCaptions = ({ maxCaption }: ChannelLimits): boolean => maxCaption !== 0

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
async function sendsFile<Config>({ channel, platform, gateway }: Scene<Config>) {
  const file = {
    name: 'report.pdf',
    type: 'application/pdf',
    data: Uint8Array.of(0x25, 0x50, 0x44, 0x46, 0, 0xff, 0x80),
  }
  const captions = takesCaptions(channel.limits) ? ['The report.', ''] : ['']
  for (const text of captions) expect(await gateway.send({ text, file })).toMatchObject({ outcome: 'sent' })
  const sent = (await platform.messages()).map(({ to, text, file }) => ({ to, text, file: describeFile(file) }))
  const content = describeFile({ name: file.name, content: file.data })
  expect(sent).toEqual(captions.map((text) => ({ to: platform.to, text, file: content })))
}

/** Each of them is a message, so the second one of the same choice is no duplicate. */
async function receivesChoices<Config>(scene: Scene<Config>) {
  const { channel, platform, gateway, can } = scene
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
  if (!can('sayInGroup')) return
  await platform.sayInGroup?.('May you?', { mentioned: true })
  const asked = await gateway.next()
  await reply(gateway, asked, { choices })
  await platform.press?.('Yes')
  const { to, group, from } = asked
  expect(await gateway.next()).toMatchObject({
    text: 'approve K7M2QXRT',
    to,
    group,
    mentioned: true,
    from: { id: from.id },
  })
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

async function reconciles<Config>({ channel, platform, gateway, can }: Scene<Config>) {
  const firstAttemptAt = Date.now()
  await gateway.send({ key: 'k', text: 'hello' })
  const connection = await gateway.connection()
  const uncertain = { to: platform.to, text: 'hello', firstAttemptAt }
  expect(await connection.reconcile?.({ ...uncertain, key: 'k' })).toBe('sent')
  expect(await connection.reconcile?.({ ...uncertain, key: 'other', text: 'bye' })).toBe('absent')
  if (channel.limits.maxFileBytes !== undefined) {
    const file = { name: 'report.txt', type: 'text/plain' }
    await gateway.send({ key: 'f', text: '', file: { ...file, data: Buffer.from('All is well.') } })
    expect(await connection.reconcile?.({ ...uncertain, key: 'f', text: '', file })).not.toBe('absent')
  }
  if (!can('sayInThread')) return
  await platform.sayInThread?.('in a thread')
  const { to, threadId, route } = await gateway.next()
  const place = { to, ...(threadId !== undefined && { threadId }), ...(route !== undefined && { route }) }
  await gateway.send({ ...place, key: 't', text: 'hello' })
  expect(await connection.reconcile?.({ ...uncertain, ...place, key: 't' })).toBe('sent')
}

/** The message has arrived, but nobody can say so at the moment. */
async function reconcilesLater<Config>({ platform, gateway, can }: Scene<Config>) {
  const firstAttemptAt = Date.now()
  if (can('loseNextAnswer')) platform.loseNextAnswer?.()
  await gateway.send({ key: 'k', text: canary })
  const connection = await gateway.connection()
  async function expectNotAbsent() {
    const message = { key: 'k', to: platform.to, text: canary, firstAttemptAt }
    const answer: unknown = await connection.reconcile?.(message).catch((error: unknown) => error)
    expect(answer).not.toBe('absent')
    expect(String(answer)).not.toContain(canary)
    expectNoSecrets(gateway, String(answer))
  }
  for (const outage of ['answers 500', 'cannot be reached'] as const) await duringOutage(outage, expectNotAbsent)
  await platform.close()
  await expectNotAbsent()
}

async function deliversOncePerKey<Config>({ gateway, texts }: Scene<Config>) {
  await gateway.send({ key: 'k', text: 'hello' })
  await gateway.send({ key: 'k', text: 'hello' })
  expect(await texts()).toEqual(['hello'])
}

async function reportsLostAnswer<Config>({ platform, gateway, texts }: Scene<Config>) {
  platform.loseNextAnswer?.()
  const result = await gateway.send({ text: canary })
  expect(result).toMatchObject({ outcome: 'unknown' })
  expectCleanDetail(gateway, result)
  expect(await gateway.send({ text: 'next' })).toMatchObject({ outcome: 'sent' })
  expect(await texts()).toEqual([canary, 'next'])
}

/** A channel whose platform drops repeated keys may send again, and then know that the message is there. */
async function reportsServerError<Config>({ platform, gateway, texts }: Scene<Config>) {
  platform.answerNext?.(500)
  const result = await gateway.send({ text: canary })
  expect(result.outcome).not.toBe('failed')
  expectCleanDetail(gateway, result)
  expect(await texts()).toEqual([canary])
}

async function reportsRefusal<Config>({ platform, gateway, texts }: Scene<Config>) {
  platform.answerNext?.(400)
  const result = await gateway.send({ text: canary })
  expect(result).toMatchObject({ outcome: 'failed', reason: 'permanent' })
  expectCleanDetail(gateway, result)
  expect(await gateway.send({ text: 'next' })).toMatchObject({ outcome: 'sent' })
  expect(await texts()).toEqual(['next'])
}

/** Telegram answers 404 if it does not know the account. Both classes are given up. */
const classes = [
  [503, ['transient', 'rate']],
  [404, ['permanent', 'auth']],
] as const

async function reportsClasses<Config>({ platform, gateway, texts }: Scene<Config>) {
  async function sendAnswered(status: number): Promise<string> {
    platform.answerNext?.(status)
    const result = await gateway.send({ text: canary })
    expectCleanDetail(gateway, result)
    expect(result.outcome, `the outcome after ${status}`).toBe('failed')
    return result.outcome === 'failed' ? result.reason : ''
  }
  for (const [status, reasons] of classes) expect(reasons, `after ${status}`).toContain(await sendAnswered(status))
  const first = await sendAnswered(401)
  // A credential that has expired may be renewed, and then be refused.
  expect(first === 'transient' ? await sendAnswered(401) : first, 'after 401').toBe('auth')
  expect(await texts()).toEqual([])
}

async function reportsRateLimit<Config>({ platform, gateway, texts }: Scene<Config>) {
  platform.limitNext?.(2000)
  const result = await gateway.send({ text: canary })
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
  const result = await connection.send({ key: 'k', to: platform.to, text: canary })
  expect(result.outcome, `${channel.name} has sent something`).not.toBe('sent')
  expectCleanDetail(gateway, result)
}

/** Two people may write the same, and one may write it twice. */
async function receivesAndReplies<Config>({ channel, platform, gateway, texts }: Scene<Config>) {
  const long = `${Array(100).fill('A long line.').join(' ')}\nZwei: äöü 漢字 👩‍🚀 "quoted"\n\nThe end.`
  const said = [long, 'yes', 'yes']
  const received: InboundMessage[] = []
  for (const text of said) {
    await platform.say?.(text)
    received.push(await gateway.next())
  }
  expect(received.map(({ text }) => text)).toEqual(said)
  expect(new Set(received.map(({ id }) => id)).size).toBe(said.length)
  for (const { from, to, group } of received) {
    expectKnownId(channel, 'sender', from.id)
    expect(group).toBeUndefined()
    expect({ from: from.id, to }).toEqual({ from: received[0]?.from.id, to: received[0]?.to })
  }
  for (const message of received.slice(0, 1)) await reply(gateway, message)
  expect(await texts()).toEqual(['hello'])
}

/** Messages that are said at once may come in one answer of the platform. */
async function survivesBursts<Config>(scene: Scene<Config>) {
  const { platform, gateway, can } = scene
  const textsOf = (what: string, count: number) => Array.from({ length: count }, (_, index) => `${what} ${index}`)
  async function sayAll(texts: readonly string[]) {
    for (const text of texts) await platform.say?.(text)
  }
  async function expectAll(texts: readonly string[]) {
    const received: string[] = []
    for (const _ of texts) received.push((await gateway.next()).text)
    expect(received).toEqual(texts)
  }
  const [burst, lost, away] = [textsOf('burst', 20), textsOf('lost', 5), textsOf('away', 5)]
  await sayAll(burst)
  await expectAll(burst)
  // A platform that sends requests repeats them.
  if (platform.webhook || !can('disconnect')) return
  await platform.disconnect?.()
  await sayAll(lost)
  await expectAll(lost)
  await gateway.connection()
  let held: HeldMessage | undefined
  await gateway.restart(async () => {
    held = gateway.holdNext()
    await sayAll(away)
  })
  await held?.message
  held?.fail()
  await expectAll(away)
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

async function confirmsIgnored<Config>({ platform, gateway }: Scene<Config>) {
  for (const result of ['ignored', 'duplicate'] as const) {
    gateway.answerNext(result)
    await platform.say?.(result)
    await expectNext({ platform, gateway }, `not ${result}`)
  }
}

async function survivesCrash<Config>({ platform, gateway }: Scene<Config>) {
  const held = gateway.holdNext()
  const said = platform.say?.('hello')
  const { id, from, to } = await held.message
  await gateway.crash(held)
  expect(await gateway.next()).toMatchObject({ id, from: { id: from.id }, to, text: 'hello' })
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

/** What is received and sent. Other checks send it, too, and something goes wrong. */
async function keepsTextsOutOfLog<Config>({ platform, gateway, can }: Scene<Config>) {
  const { file } = createFile({ bytes: 5, name: `${canary}.txt` })
  const ways: Partial<Record<PlatformAbility, () => Promise<void>>> = {
    say: () => platform.say!(canary),
    sayInGroup: () => platform.sayInGroup!(canary, { mentioned: true }),
    sayInThread: () => platform.sayInThread!(canary),
    sayWithFile: async () => void (await platform.sayWithFile!(canary, file)),
  }
  for (const [ability, say] of Object.entries(ways)) {
    if (!can(ability as PlatformAbility)) continue
    await say()
    await gateway.next()
  }
  expect(await gateway.send({ text: canary })).toMatchObject({ outcome: 'sent' })
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
