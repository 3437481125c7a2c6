// Kills the gateway in the middle of bursts of replies, for each channel: every reply arrives once where the platform
// can tell. Where it cannot, the replies in flight are reported as unknown. SEED= repeats the moments of the kills.
import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { PlatformRequest, PlatformResponse } from '../../core/plugin/plugin.ts'
import { createRandom, seed } from '../config/random.ts'
import { type ChannelDouble, channelDoubles } from '../doubles/channels.ts'
import { messagesOf, startModel } from '../doubles/model.ts'
import { temporaryFolder } from '../helpers.ts'
import { deliveriesInFlight, get, post, start, waitingTexts } from '../reliability/process.ts'

const kills = 4

/** The platforms that drop a repeated message, or say whether a message has arrived. */
const tellsFate: ReadonlySet<string> = new Set(['discord', 'slack', 'mattermost', 'imessage'])

/** A number of replies, and what starts each. */
interface Burst {
  replies: number
  trigger(double: ChannelDouble, index: number, url: () => Promise<string>): Promise<unknown>
}

const webhooks: Burst = {
  replies: 200,
  trigger: ({ name: channel, recipients }, index, url) => {
    const to = recipients[index % recipients.length]
    return postUntilAccepted(url, { message: `Question ${index}.`, channel, to, wakeMode: 'next-heartbeat' })
  },
}

const messages: Burst = {
  replies: 60,
  trigger: (double, index, url) => {
    const text = `Question ${index}.`
    // Without its second part, a message would have no text, and its run another reply.
    if (index % 3 === 0 && double.sayInParts) return double.sayInParts(text)
    return double.say(text, async (request) => await requestChannel(`${await url()}/channels/${double.name}`, request))
  },
}

describe.each([
  ['webhooks', webhooks],
  ['messages of people', messages],
])(`replies to %s (SEED=${seed})`, (_, burst) => {
  it.each(Object.entries(channelDoubles))('survive kills on %s', async (name, open) => {
    const double = await open()
    onTestFinished(() => double.close())
    const { runs, inFlight, unknown, events } = await surviveKills(double, burst)
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'succeeded'))
    expect(runs).toHaveLength(burst.replies)

    const lines = linesByReply(await double.texts())
    const fates = new Map(runs.map(({ reply, deliveries }) => [indexOf(reply), deliveries[0]!]))
    for (let index = 0; index < burst.replies; index++) {
      const { id, status } = fates.get(index)!
      const arrived = lines.get(index) ?? []
      const expected = Array.from({ length: status === 'sent' ? lengthOf(index) : arrived.length }, (_, line) => line)
      expect({ index, status, arrived }).toEqual({
        index,
        status: inFlight.has(id) ? status : 'sent',
        arrived: expected,
      })
    }
    const unsent = runs.filter(({ deliveries }) => deliveries[0]!.status !== 'sent')
    expect(unknown.toSorted()).toEqual(unsent.map(({ deliveries }) => deliveries[0]!.id).toSorted())
    if (tellsFate.has(name)) expect(unknown).toEqual([])
    const reported = events.filter((text) => text.includes('may not have arrived')).map((text) => indexOf(text))
    expect(new Set(reported)).toEqual(new Set(unsent.map(({ reply }) => indexOf(reply))))
    expect(reported).toHaveLength(unsent.length)
  })
})

/** Every tenth reply needs several messages. */
const lengthOf = (index: number): number => (index % 10 === 3 ? 80 : 1)

const replyOf = (index: number): string =>
  Array.from({ length: lengthOf(index) }, (_, line) => `R${index}-${line} ${'All is well. '.repeat(24)}`).join('\n\n')

/** The number of the reply with which a text begins, or that it quotes. */
const indexOf = (text: string): number => Number(/R(\d+)-0 /.exec(text)?.[1])

/** The lines of each reply in the order in which they arrived. */
function linesByReply(texts: readonly string[]): Map<number, number[]> {
  const lines = texts.flatMap((text) =>
    Array.from(text.matchAll(/R(\d+)-(\d+) /g), ([, ...match]) => match.map(Number)),
  )
  const replies = Map.groupBy(lines, ([reply]) => reply!)
  return new Map(Array.from(replies, ([reply, own]) => [reply, own.map(([, line]) => line!)]))
}

interface EndedRun {
  status: string
  reply: string
  deliveries: { id: string; status: string }[]
}

/** Starts the replies, kills and restarts the gateway while they are sent, and waits until all have ended. */
async function surviveKills(double: ChannelDouble, { replies, trigger }: Burst) {
  const [dir, next] = [temporaryFolder(), createRandom(seed)]
  const random = (bound: number) => Math.floor(next() * bound)
  const config = await configFor(double)
  await double.prepare?.(dir)
  const launch = () => start(dir, config, { nodeOptions: double.nodeOptions ?? [] })
  let gateway = await launch()
  let up = Promise.resolve(gateway.url)
  await connected(gateway.url, double.name)
  const triggered = Promise.all(Array.from({ length: replies }, (_, index) => trigger(double, index, () => up)))
  const inFlight = new Set<string>()
  let accepted = 0
  for (let kill = 0; kill < kills; kill++) {
    accepted += 1 + random(replies / (kills + 2))
    await double.accepted(accepted)
    await pause(random(10))
    await gateway.end('SIGKILL')
    for (const id of await deliveriesInFlight(dir)) inFlight.add(id)
    const started = launch()
    up = started.then(({ url }) => url)
    gateway = await started
  }
  await triggered
  const runs = await endedRuns(gateway.url, replies)
  const { items } = (await get(gateway.url, '/api/outbox?status=unknown&limit=200')).body as { items: { id: string }[] }
  await gateway.end('SIGTERM')
  return { runs, inFlight, unknown: items.map(({ id }) => id), events: await waitingTexts(dir) }
}

/** Each sender is a stranger with a session of their own, so that the events wait in the main session. */
async function configFor({ name, settings }: ChannelDouble): Promise<Record<string, unknown>> {
  const model = await startModel()
  model.otherwise((request) => {
    const [, index] = /Question (\d+)\./.exec(messagesOf(request).at(-1)!.content) ?? []
    return { text: replyOf(Number(index)) }
  })
  const defaults = { maxConcurrent: 16, maxAttempts: 2 * kills, heartbeat: { every: 0 }, model: 'double/m' }
  const channel = { ...settings, allowFrom: ['*'] }
  return { agents: { defaults }, providers: model.providers, channels: { [name]: channel } }
}

/** Resolves when the account is connected: some channels receive only what is written after their first connection. */
async function connected(url: string, name: string): Promise<void> {
  const { accounts } = (await get(url, '/api/channels')).body as { accounts: { channel: string; state: string }[] }
  if (accounts.some(({ channel, state }) => channel === name && state === 'connected')) return
  await pause(20)
  await connected(url, name)
}

/** Repeats the request, as senders do, until it is accepted. */
async function postUntilAccepted(url: () => Promise<string>, body: object): Promise<void> {
  const key = randomUUID()
  for (;;) {
    const answer = await post(await url(), ['agent', body, { 'idempotency-key': key }]).catch(pauseIfDown)
    if (answer?.status === 200) return
    if (answer) throw new Error(`answered ${answer.status}`)
  }
}

/** Requests a channel as its platform does. The platform repeats what gets no answer. */
async function requestChannel(url: string, { method, headers, body }: PlatformRequest): Promise<PlatformResponse> {
  const init = { method, headers: { 'content-type': 'application/json', ...headers } as Record<string, string> }
  const response = await fetch(url, { ...init, body: Buffer.from(body) }).catch(pauseIfDown)
  await response?.body?.cancel()
  if (response?.status !== 200) await pause(10)
  return { status: response?.status ?? 503 }
}

/** `fetch` throws a TypeError for every connection error. */
async function pauseIfDown(error: unknown): Promise<undefined> {
  if (!(error instanceof TypeError)) throw error
  await pause(10)
}

/** The runs, when all have ended and none of their replies is still to be sent. */
async function endedRuns(url: string, count: number): Promise<EndedRun[]> {
  const runs: EndedRun[] = []
  for (let cursor = '', isLast = false; !isLast;) {
    const { items, next } = (await get(url, `/api/runs?limit=200${cursor}`)).body as {
      items: EndedRun[]
      next?: string
    }
    runs.push(...items)
    ;[cursor, isLast] = [`&cursor=${next}`, next === undefined]
  }
  const hasEnded = ({ status, deliveries }: EndedRun) =>
    !['queued', 'running'].includes(status) && deliveries[0]?.status !== 'pending'
  if (runs.length >= count && runs.every(hasEnded)) return runs
  await pause(100)
  return await endedRuns(url, count)
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
