// Kills the gateway in the middle of a burst of replies: each arrives once where the platform can tell, and where it
// cannot, the reply is reported as unknown. None is missing.
import { expect, it } from 'vitest'
import { type Chat, startChat } from '../doubles/chat.ts'
import { startModel } from '../doubles/model.ts'
import { temporaryFolder } from '../helpers.ts'
import { get, post, start, waitingTexts } from '../reliability/process.ts'

const replies = 200

/** Sends the webhooks, kills the gateway while replies are in flight, and starts it again. */
async function surviveBurst(channel: 'chat-native' | 'chat-reconcile' | 'chat-none') {
  const [dir, chat, model] = [temporaryFolder(), await startChat(), await startModel()]
  model.otherwise({ text: 'Done.' })
  const agents = { defaults: { maxConcurrent: 16, maxAttempts: 10, heartbeat: { every: 0 }, model: 'double/m' } }
  const config = { agents, providers: model.providers, ...chat.config(dir, { [channel]: {} }) }
  const gateway = await start(dir, config)
  const runIds = await Promise.all(
    Array.from({ length: replies }, async (_, index) => {
      const body = { message: `Reply ${index}.`, channel, to: `recipient ${index % 20}`, wakeMode: 'next-heartbeat' }
      return (await post(gateway.url, ['agent', body])).body.runId as string
    }),
  )
  await chat.attempted(replies / 4)
  chat.script('hang', 'hang', 'hang')
  await chat.attempted(chat.attempts.length + 4)
  await gateway.end('SIGKILL')
  const again = await start(dir, config)
  const deliveries: Delivery[] = []
  for (const id of runIds) deliveries.push(await endedDelivery(again.url, id))
  await again.end('SIGTERM')
  return { chat, deliveries, events: await waitingTexts(dir) }
}

interface Delivery {
  id: string
  status: string
}

/** The reply of this run, when it has been sent or given up. */
async function endedDelivery(url: string, runId: string): Promise<Delivery> {
  const delivery = (await get(url, `/runs/${runId}`)).body.deliveries?.[0] as Delivery | undefined
  if (delivery && delivery.status !== 'pending') return delivery
  await new Promise((resolve) => setTimeout(resolve, 50))
  return await endedDelivery(url, runId)
}

const keysOf = ({ held }: Chat): string[] => held.map(({ key }) => key)

it.each(['chat-native', 'chat-reconcile'] as const)('every reply arrives once on %s', async (channel) => {
  const { chat, deliveries, events } = await surviveBurst(channel)
  expect(new Set(deliveries.map(({ status }) => status))).toEqual(new Set(['sent']))
  expect(keysOf(chat).toSorted()).toEqual(deliveries.map(({ id }) => `${id}:0`).toSorted())
  expect(events.filter((text) => text.includes('may not have arrived'))).toEqual([])
})

it('no reply arrives twice on chat-none, and those in flight are reported', async () => {
  const { chat, deliveries, events } = await surviveBurst('chat-none')
  const keys = keysOf(chat)
  expect(new Set(keys).size).toBe(keys.length)
  const unknown = deliveries.filter(({ status }) => status === 'unknown')
  expect(unknown.length).toBeGreaterThanOrEqual(3)
  expect(deliveries.filter(({ id, status }) => status !== 'unknown' && !keys.includes(`${id}:0`))).toEqual([])
  expect(events.filter((text) => text.includes('may not have arrived'))).toHaveLength(unknown.length)
})
