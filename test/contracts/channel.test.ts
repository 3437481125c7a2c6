// The channel contract accepts a correct channel and finds each of many faults.
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type MailboxConfig, openMailbox } from '../doubles/mailbox.ts'
import type { Channel } from '../../core/plugin/plugin.ts'
import { channelContract, type Platform } from './channel.ts'
import { channelChecks } from './channel-checks.ts'
import { logAdvice, runCheck } from './channel-scene.ts'
import { trapOutsideConnections } from './loopback.ts'
import { type Fault, forgetShared, mailboxChannel } from './mailbox-channel.ts'
import { expectTable } from './mutant-table.ts'
import { openWebhookPlatform, webhookChannel, type WebhookFault } from './webhook-channel.ts'

channelContract(mailboxChannel(), openMailbox, { without: ['signature'] })

/** It sends nothing that its platform keeps. */
const webhookChecks = /crash|cannot be stored|could be stored|burst|gateway ignores|has not signed/

const sendsFile = 'sends a file with its name, its bytes and its caption'
const followsRedirects = 'follows redirects of a download, without its credential to other hosts'
const receivesChoices = 'shows choices, and receives the one that is picked'
const keepsThreads = 'receives messages in a thread, and sends replies there'

type Mutant = [Fault, ...string[]]

const inOrder = 'receives every message of a burst in order, also after a loss'
const marksGroups = 'marks messages in groups, and those that mention the account'
const ignoresEdits = 'does not receive an edited message as a new one'
const reconciles = 'reconciles messages by key'
const reconcilesLater = 'does not reconcile while the platform is away'
const receives = 'receives messages and sends replies'
const hasClasses = 'returns the class of 401, 404 and 503'
const keepsIds = 'names people by an id that nobody chooses'
const keepsApart = 'keeps accounts apart'
const quotes = 'says which message another one answers'
const confirmsLater = 'receives a message again after a crash before it was stored'
const keepsTexts = 'keeps texts out of the log'

const mutants: readonly Mutant[] = [
  [
    'accepts any credentials',
    'rejects refused credentials with an AuthError',
    'is connecting, connected, connected again after a loss, or refused',
  ],
  ['changes the name of a file', sendsFile],
  ['counts 5xx as certain failure', 'does not return failed when the platform answers 500 after the message was sent'],
  ['cuts the text of choices', 'sends choices that are as many and as long as they may be'],
  ['drops choices', receivesChoices],
  ['gives presses the id of the message', receivesChoices],
  ['ignores presses', receivesChoices],
  ['keeps choices', 'removes choices'],
  ['receives the label of a choice', receivesChoices],
  ['cuts long texts', 'delivers a message of limits.maxText'],
  ['does not mark groups', 'marks messages in groups, and those that mention the account'],
  ['does not mark mentions', 'marks messages in groups, and those that mention the account'],
  ['does not offer files', 'hands over files', 'ends the download of a file that is larger than stated'],
  ['does not follow redirects', followsRedirects],
  ['sends its token wherever a redirect leads', followsRedirects],
  ['drops the caption of a file', sendsFile],
  ['drops the file when it sends', sendsFile],
  ['drops the thread of a received message', keepsThreads],
  ['drops the thread when it sends', keepsThreads],
  ['does not wait for receive', 'receives a message again after a crash before it was stored'],
  ['forgets the wait time of a rate limit', 'returns the wait time of a rate limit and does not retry'],
  ['gives the wait time of a rate limit in seconds', 'returns the wait time of a rate limit and does not retry'],
  [
    'has the text in the detail',
    'returns unknown when the response is lost, and does not send again',
    'returns the wait time of a rate limit and does not retry',
    'returns a failure without secrets and texts when the platform is gone',
  ],
  [
    'has the token in the detail',
    'returns unknown when the response is lost, and does not send again',
    'returns the wait time of a rate limit and does not retry',
    'returns a failure without secrets and texts when the platform is gone',
  ],
  ['has the token in the log', 'delivers messages complete and in order'],
  ['has unstable ids', 'receives a message again after a crash before it was stored'],
  ['lets the platform make previews', 'lets nobody fetch an address before it is opened'],
  ['offers files that cannot be read', 'hands over files'],
  ['polls on after close', 'receives nothing after close'],
  [
    'reads files before it hands them over',
    'ends the download of a file that is larger than stated',
    'receives a message whose file cannot be downloaded whole',
  ],
  ['receives edits as new messages', 'does not receive an edited message as a new one'],
  ['receives inside connect', 'connects while messages cannot be stored'],
  ['receives its own messages', 'ignores messages of the account itself'],
  ['retries 400', 'returns a permanent failure when the platform refuses the message with 400'],
  ['sends again after 400', 'returns a permanent failure when the platform refuses the message with 400'],
  ['sends again after a lost answer', 'returns unknown when the response is lost, and does not send again'],
  ['sends files as text', sendsFile],
  ['sends files without bytes', sendsFile],
  ['sends to everybody', 'delivers messages complete and in order'],
  ['starts from the newest message', 'receives messages and sends replies'],
  [
    'stops after a loss',
    'receives what was said while the connection was lost, once',
    'is connecting, connected, connected again after a loss, or refused',
  ],
  ['stops if receive takes long', 'receives what was said while nothing could be stored, in order'],
  ['stores the cursor before receive', 'receives a message again after a crash before it was stored'],
  ['swallows the error of receive', 'receives a message again after a crash before it was stored'],
  ['waits for the poll in close', 'receives nothing after close'],
  ['adds the display name to the ids of a person', keepsIds],
  ['cuts received texts', receives],
  ['does not look for files when it reconciles', reconciles],
  ['does not look into threads when it reconciles', reconciles],
  ['drops all but the first line of a received text', receives],
  ['drops files in groups', 'hands over files'],
  ['drops quotes', quotes],
  ['forgets the other ids of a person', 'knows a person by another id'],
  ['takes forwards for own words', 'marks messages that are passed on'],
  ['takes quotes of others for its own', quotes],
  ['drops files in threads', 'hands over files'],
  ['drops files without a text', 'hands over files'],
  ['drops the thread of files that it sends', keepsThreads],
  ['drops the thread of messages in groups', keepsThreads],
  ['gives the sender as the recipient of a group', marksGroups],
  ['hands over only the first file', 'hands over files'],
  ['has a failed request in the log', 'returns a permanent failure when the platform refuses the message with 400'],
  ['has received texts in the log', keepsTexts],
  ['has the token in the reason of a loss', 'receives what was said while the connection was lost, once'],
  ['has the token in the route', receives],
  ['loses a message of a burst', inOrder],
  ['makes ids of texts', receives],
  ['marks direct messages as those of a group', receives],
  ['mixes up messages that are sent at once', 'delivers messages complete and in order'],
  ['names people by a number of the connection', keepsIds],
  ['names people by their display name', keepsIds],
  ['receives a page of messages at once', inOrder],
  ['receives edits in groups as new messages', ignoresEdits],
  ['receives edits in threads as new messages', ignoresEdits],
  ['replies to the newest conversation', marksGroups],
  ['reverses what it has missed', inOrder],
  ['says absent while the platform is away', reconcilesLater],
  ['says sent of any message', reconciles],
  ['stops at a message that the gateway ignores', 'confirms a message that the gateway ignores'],
  ['stops at a message that the gateway knows', 'confirms a message that the gateway ignores'],
  ['takes 401 for an outage', hasClasses],
  ['takes 404 for an outage', hasClasses],
  ['takes 503 for a refusal', hasClasses],
  ['takes every message of a group for a mention', marksGroups],
  ['takes an outage for refused credentials', 'rejects refused credentials with an AuthError'],
  ['takes presses in groups for direct messages', receivesChoices],
]

/** What these check or change is the whole process's. */
const lonelyMutants: readonly Mutant[] = [
  ['leaves a timer after close', 'leaves no socket and no timer after close'],
  ['keeps its position in the module', keepsApart],
  ['keeps its settings in the module', keepsApart],
  ['says absent after an error of the platform', reconcilesLater],
]

/** Found whatever is checked, with a sentence of its own. */
const secretsInLog = { name: 'any check: secrets in the log', advice: 'Do not log secrets.' }
const leaks: ReadonlyMap<Fault, { name: string; advice: string }> = new Map([
  ['has a failed request in the log', { name: 'any check: texts in the log', advice: logAdvice }],
  ['has the token in the log', secretsInLog],
  ['has the token in the reason of a loss', secretsInLog],
  [
    'has the token in the route',
    { name: 'any check: secrets in messages', advice: 'Do not put secrets into messages.' },
  ],
])

const webhookMutants: readonly (readonly [WebhookFault, string])[] = [
  ['confirms before receive', confirmsLater],
  ['swallows the error of receive', confirmsLater],
  ...(
    [
      'accepts any secret',
      'accepts old requests',
      'accepts requests by GET',
      'accepts requests of a known program',
      'accepts requests that come from nearby',
      'accepts requests without a signature',
      'answers 200 to forged requests',
      'compares only the beginning of the signature',
      'compares only what it gets of the signature',
      'does not verify the body',
      'does not verify the time',
      'ignores the case of the signature',
      'receives before it verifies',
      'verifies nothing',
      'verifies what it has parsed of the body',
    ] as const
  ).map((fault) => [fault, 'refuses requests that its platform has not signed'] as const),
]

interface Faulty<Config> {
  channel: Channel<Config>
  openPlatform: () => Promise<Platform<Config>>
  /** What every check says, if it is found whatever is checked. */
  advice?: string | undefined
}

/** Each of these checks fails, and its error begins with what to do. */
async function findFault<Config>({ channel, openPlatform, advice }: Faulty<Config>, names: readonly string[]) {
  const checks = channelChecks(channel).filter(({ name }) => names.includes(name))
  const found: [name: string, says: string | undefined][] = []
  for (const check of checks) {
    const run = runCheck(check, { channel, openPlatform, waitMs: 300 })
    const error: unknown = await run.catch((error: unknown) => error)
    const [says] = error instanceof Error ? error.message.split('\n') : []
    found.push([check.name, says === (advice ?? check.advice) ? 'what to do' : says])
  }
  return { found: Object.fromEntries(found), expected: Object.fromEntries(names.map((name) => [name, 'what to do'])) }
}

const faultyMailbox = (fault: Fault): Faulty<MailboxConfig> => ({
  channel: mailboxChannel(fault),
  openPlatform: openMailbox,
  advice: leaks.get(fault)?.advice,
})

const faultyWebhook = (fault: WebhookFault): Faulty<unknown> => ({
  channel: webhookChannel(fault),
  openPlatform: () => openWebhookPlatform(fault),
})

describe('the channel contract', () => {
  it('accepts a channel with a webhook that verifies requests, and confirms when the message is stored', async () => {
    const checks = channelChecks(webhookChannel()).filter(({ name }) => webhookChecks.test(name))
    for (const check of checks) await runCheck(check, { channel: webhookChannel(), openPlatform: openWebhookPlatform })
    expect(checks).toHaveLength(6)
  })

  it.each<Mutant>(lonelyMutants)('finds a channel that %s', async (fault, ...names) => {
    onTestFinished(forgetShared)
    const { found, expected } = await findFault(faultyMailbox(fault), names)
    expect(found).toEqual(expected)
  })

  it.concurrent.for(mutants)('finds a channel that %s', async ([fault, ...names], { expect }) => {
    const { found, expected } = await findFault(faultyMailbox(fault), names)
    expect(found).toEqual(expected)
  })

  it.concurrent.for(webhookMutants)('finds a channel with a webhook that %s', async ([fault, name], { expect }) => {
    const { found, expected } = await findFault(faultyWebhook(fault), [name])
    expect(found).toEqual(expected)
  })

  it('says what the double lacks', async () => {
    const checks = channelChecks(webhookChannel())
    const { signature: _, ...unsigned } = await openWebhookPlatform()
    for (const [name, ability] of [
      ['refuses requests that its platform has not signed', 'signature'],
      [keepsIds, 'rename'],
    ]) {
      const check = checks.find((one) => one.name === name)!
      const run = runCheck(check, { channel: webhookChannel(), openPlatform: async () => unsigned })
      await expect(run).rejects.toThrow(`The double has no "${ability}". Add it, or name it in "without"`)
    }
  })

  it('has the mutants of the table', () => {
    const withWebhook = webhookMutants.map(([fault, check]) => [`${fault} (with a webhook)`, check] as const)
    const listed = [...lonelyMutants, ...mutants].map((mutant): Mutant => {
      const leak = leaks.get(mutant[0])
      return leak ? [mutant[0], leak.name] : mutant
    })
    expectTable('Channels', [...listed, ...withWebhook], [...channelChecks(mailboxChannel()), ...leaks.values()])
  })

  it('refuses and reports connections to other machines while it runs', async () => {
    const trap = trapOutsideConnections()
    const mailbox = await openMailbox()
    try {
      await expect(fetch('http://192.0.2.1/')).rejects.toThrow()
      expect(() => connect(9, '192.0.2.2')).toThrow('192.0.2.2')
      const socket = connect(Number(new URL(mailbox.config.url).port), '127.0.0.1')
      await once(socket, 'connect')
      socket.destroy()
    } finally {
      trap.remove()
      await mailbox.close()
    }
    expect(trap.escapes).toEqual(['192.0.2.1', '192.0.2.2'])
  })
})
