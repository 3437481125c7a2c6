// The channel contract accepts a correct channel and finds each of many faults.
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openMailbox } from '../doubles/mailbox.ts'
import { defineChannel, type PlatformRequest, type PlatformResponse, Type } from '../../core/plugin/plugin.ts'
import { channelContract, type Platform } from './channel.ts'
import { channelChecks, runCheck } from './channel-checks.ts'
import { trapOutsideConnections } from './loopback.ts'
import { type Fault, mailboxChannel } from './mailbox-channel.ts'
import { expectTable } from './mutant-table.ts'

channelContract(mailboxChannel(), openMailbox)

const sendsFile = 'sends a file with its name, its bytes and its caption'
const receivesChoices = 'shows choices, and receives the one that is picked'
const keepsThreads = 'receives messages in a thread, and sends replies there'

/** A channel that only answers requests of its platform. */
const hookChannel = (fault?: (typeof webhookMutants)[number]) =>
  defineChannel({
    name: 'hook',
    description: 'Messages of a webhook.',
    config: Type.Object({}),
    target: Type.String({ minLength: 1, pattern: String.raw`\S`, description: 'A name.' }),
    limits: { maxText: 500, idempotency: 'none' },
    connect: async (_config, { receive }) => ({
      send: async () => ({ outcome: 'sent' }),
      close: async () => undefined,
      async handle({ body }) {
        const message = JSON.parse(Buffer.from(body).toString()) as { id: string; text: string }
        const stored = receive({ ...message, from: { id: 'ann' }, to: 'ann' })
        if (fault) stored.catch(() => undefined)
        if (fault !== 'confirms before receive') await (fault ? stored.catch(() => undefined) : stored)
        return { status: 200 }
      },
    }),
  })

/** Repeats a message until it is confirmed. */
async function openHookPlatform(): Promise<Platform<unknown>> {
  let [count, post] = [0, undefined as ((request: PlatformRequest) => Promise<PlatformResponse>) | undefined]
  return {
    config: {},
    to: 'ann',
    messages: async () => [],
    webhook: (way) => void (post = way),
    async say(text) {
      const body = Buffer.from(JSON.stringify({ id: String(++count), text }))
      const request = { method: 'POST', headers: {}, query: {}, body, signal: new AbortController().signal } as const
      while ((await post?.(request))?.status !== 200);
    },
    close: async () => undefined,
  }
}

type Mutant = [Fault, ...string[]]

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
  ['leaves a timer after close', 'leaves no socket and no timer after close'],
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
]

/** Found whatever is checked, with a sentence of its own. */
const leaky = ['has the token in the log', 'any check', 'Do not log secrets.'] as const

const webhookMutants = ['confirms before receive', 'swallows the error of receive'] as const
const confirmsLater = 'receives a message again after a crash before it was stored'

describe('the channel contract', () => {
  it('accepts a channel with a webhook that confirms when the message is stored', async () => {
    const checks = channelChecks(hookChannel()).filter(({ name }) =>
      /crash|cannot be stored|could be stored/.test(name),
    )
    for (const check of checks) await runCheck(check, { channel: hookChannel(), openPlatform: openHookPlatform })
    expect(checks).toHaveLength(3)
  })

  it.each<Mutant>(mutants)('finds a channel that %s', async (fault, ...names) => {
    const channel = mailboxChannel(fault)
    const checks = channelChecks(channel).filter(({ name }) => names.includes(name))
    expect(checks.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
    for (const check of checks) {
      const run = runCheck(check, { channel, openPlatform: openMailbox, waitMs: 300 })
      await expect(run).rejects.toThrow(/^[A-Z].*\.\n/)
      await expect(run).rejects.toThrow(fault === leaky[0] ? leaky[2] : check.advice)
    }
  })

  it.each(webhookMutants)('finds a channel with a webhook that %s', async (fault) => {
    const channel = hookChannel(fault)
    const check = channelChecks(channel).find(({ name }) => name === confirmsLater)
    const run = runCheck(check!, { channel, openPlatform: openHookPlatform, waitMs: 300 })
    await expect(run).rejects.toThrow(/^Await `receive`.*\n/)
  })

  it('has the mutants of the table', () => {
    const withWebhook = webhookMutants.map((fault) => [`${fault} (with a webhook)`, confirmsLater] as const)
    const listed = mutants.map((mutant) => (mutant[0] === leaky[0] ? leaky : mutant))
    const checks = [...channelChecks(mailboxChannel()), { name: leaky[1], advice: leaky[2] }]
    expectTable('Channels', [...listed, ...withWebhook], checks)
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
