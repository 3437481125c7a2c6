// A channel that only answers signed requests, its platform, and faults of choice that the channel contract must find.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { defineChannel, type PlatformRequest, type PlatformResponse, Type } from '../../core/plugin/plugin.ts'
import type { Platform } from './platform.ts'

export type WebhookFault =
  | 'accepts any secret'
  | 'accepts old requests'
  | 'accepts requests by GET'
  | 'accepts requests of a known program'
  | 'accepts requests that come from nearby'
  | 'accepts requests without a signature'
  | 'answers 200 to forged requests'
  | 'compares only the beginning of the signature'
  | 'compares only what it gets of the signature'
  | 'confirms before receive'
  | 'does not verify the body'
  | 'does not verify the time'
  | 'ignores the case of the signature'
  | 'receives before it verifies'
  | 'swallows the error of receive'
  | 'verifies nothing'
  | 'verifies what it has parsed of the body'

const secret = 'webhook-secret-0123456789'
const maxAgeMs = 300_000
const agent = 'Webhooks/2.1'

const compute = (body: Uint8Array, time: string, key = secret): string =>
  createHmac('sha256', key).update(`${time}.`).update(body).digest('base64')

export const webhookChannel = (fault?: WebhookFault) =>
  defineChannel({
    name: 'webhook',
    description: 'Messages of a platform that sends requests.',
    config: Type.Object({}),
    target: Type.String({ minLength: 1, pattern: String.raw`\S`, description: 'A name.' }),
    limits: { maxText: 500, idempotency: 'none' },
    connect: async (_config, { receive }) => ({
      send: async () => ({ outcome: 'sent' }),
      close: async () => undefined,
      async handle(request) {
        const isGenuine = isAllowed(request, fault)
        if (!isGenuine && fault === 'answers 200 to forged requests') return { status: 200 }
        if (!isGenuine && fault !== 'receives before it verifies') return { status: 401 }
        const message = JSON.parse(Buffer.from(request.body).toString()) as { id: string; text: string }
        const stored = receive({ ...message, from: { id: 'ann' }, to: 'ann' })
        const isCareless = fault === 'confirms before receive' || fault === 'swallows the error of receive'
        if (isCareless) stored.catch(() => undefined)
        if (fault !== 'confirms before receive') await (isCareless ? stored.catch(() => undefined) : stored)
        return { status: isGenuine ? 200 : 401 }
      },
    }),
  })

function isAllowed({ method, headers, body }: PlatformRequest, fault: WebhookFault | undefined): boolean {
  const { 'x-signature': signature, 'x-time': time = '' } = headers
  if (fault === 'verifies nothing') return true
  if (fault === 'accepts requests by GET' && method === 'GET') return true
  if (fault === 'accepts requests without a signature' && signature === undefined) return true
  if (fault === 'accepts requests of a known program' && headers['user-agent'] === agent) return true
  if (fault === 'accepts requests that come from nearby' && headers['x-forwarded-for'] === '127.0.0.1') return true
  if (fault === 'accepts any secret') return signature !== undefined
  const age = Math.abs(Date.now() - Number(time))
  if (!(age <= maxAgeMs) && fault !== 'accepts old requests') return false
  const expected = compute(signedPart(body, fault), fault === 'does not verify the time' ? '' : time)
  const given = signature ?? ''
  if (fault === 'compares only the beginning of the signature') return given.slice(0, 8) === expected.slice(0, 8)
  if (fault === 'compares only what it gets of the signature') return expected.startsWith(given) && given !== ''
  if (fault === 'ignores the case of the signature') return given.toLowerCase() === expected.toLowerCase()
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}

function signedPart(body: Uint8Array, fault: WebhookFault | undefined): Uint8Array {
  if (fault === 'does not verify the body') return Buffer.from('')
  if (fault !== 'verifies what it has parsed of the body') return body
  return Buffer.from(JSON.stringify(JSON.parse(Buffer.from(body).toString())))
}

/** Repeats a message until it is confirmed. @param fault that of the channel, for which the platform signs */
export async function openWebhookPlatform(fault?: WebhookFault): Promise<Platform<unknown>> {
  let [count, post] = [0, undefined as ((request: PlatformRequest) => Promise<PlatformResponse>) | undefined]
  function sign(body: Uint8Array, { at, forged }: { at: number; forged: boolean }) {
    const time = fault === 'does not verify the time' ? '' : String(at)
    return {
      'x-time': String(at),
      'x-signature': compute(signedPart(body, fault), time, forged ? 'another secret' : secret),
    }
  }
  return {
    config: {},
    to: 'ann',
    messages: async () => [],
    webhook: (way) => void (post = way),
    signature: { coversBody: true, maxAgeMs, sign },
    async say(text) {
      const body = Buffer.from(JSON.stringify({ id: String(++count), text }))
      const headers = { 'user-agent': agent, ...sign(body, { at: Date.now(), forged: false }) }
      const request = { method: 'POST', headers, query: {}, body, signal: new AbortController().signal } as const
      while ((await post?.(request))?.status !== 200);
    },
    close: async () => undefined,
  }
}
