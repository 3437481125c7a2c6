// How each service signs, implemented independently: the requests that the signature tests send.
import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { HookAuth } from '../../core/config/schema/hook-auth.ts'
import type { SignedRequest } from '../../core/plugin/plugin.ts'

export interface Sent {
  headers: Record<string, string>
  body: string
  url: string
}

export interface Sample {
  scheme: string
  what: string
  auth: HookAuth
  wrong: HookAuth
  /** The header with the signature or token. */
  header: string
  /** Allowed age of the timestamp in seconds; absent: the scheme has no timestamp. */
  tolerance?: number
  unit?: 's' | 'ms'
  send(time: string): Sent
}

export const now = Date.UTC(2030, 0, 31, 9)
const body = JSON.stringify({ type: 'thing.happened', data: { id: 'a1', text: 'Grüße 🌍', n: 1.5 } })
const url = 'https://gateway.example.com/hooks/test?a=1'
const secretBytes = Buffer.from('a secret of thirty-two bytes ok?')
const base64Secret = secretBytes.toString('base64')
const keys = generateKeyPairSync('ed25519')
const otherKeys = generateKeyPairSync('ed25519')
const rawKey = ({ publicKey }: { publicKey: KeyObject }) =>
  Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')

const signEd25519 = (text: string, encoding: 'hex' | 'base64') =>
  sign(null, Buffer.from(text), keys.privateKey).toString(encoding)

const hmac = (
  encoding: 'hex' | 'base64',
  text: string,
  { secret = 'the secret', algorithm = 'sha256' }: { secret?: string | Buffer; algorithm?: string } = {},
) => createHmac(algorithm, secret).update(text, 'utf8').digest(encoding)

function sample(
  scheme: string,
  header: string,
  more: Partial<Sample> & { headers(time: string): Record<string, string> },
): Sample {
  return {
    scheme,
    what: scheme,
    header,
    auth: { scheme, secret: 'the secret' },
    wrong: { scheme, secret: 'another secret' },
    send: (time) => ({ headers: more.headers(time), body, url }),
    ...more,
  }
}

/** A JSON Web Token, as Netlify signs it. */
export function netlifyToken({ secret = 'the secret', text = body, claims = {} } = {}): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const sha256 = createHash('sha256').update(text).digest('hex')
  const signed = `${part({ alg: 'HS256' })}.${part({ iss: 'netlify', sha256, ...claims })}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

const standard = (family: 'webhook' | 'svix', scheme: 'standard-webhooks' | 'svix') =>
  sample(scheme, `${family}-signature`, {
    what: `${scheme} as ${family}-*`,
    auth: { scheme, secret: `whsec_${base64Secret}` },
    wrong: { scheme, secret: `whsec_${Buffer.from('other').toString('base64')}` },
    tolerance: 300,
    headers: (time) => ({
      [`${family}-id`]: 'msg_1',
      [`${family}-timestamp`]: time,
      [`${family}-signature`]: `v1,${hmac('base64', `msg_1.${time}.${body}`, { secret: secretBytes })}`,
    }),
  })

const form = 'CallSid=CA1&To=%2B18005551212&Body=hello+there&Digits=1'
const formText = `${url}Bodyhello thereCallSidCA1Digits1To+18005551212`

export const samples: readonly Sample[] = [
  sample('token', 'authorization', { headers: () => ({ authorization: 'Bearer the secret' }) }),
  sample('token', 'x-svc-token', { what: 'token in x-svc-token', headers: () => ({ 'x-svc-token': 'the secret' }) }),
  sample('token', 'x-mine', {
    what: 'token in a header of its own',
    auth: { scheme: 'token', header: 'X-Mine', secret: 'the secret' },
    wrong: { scheme: 'token', header: 'X-Mine', secret: 'other' },
    headers: () => ({ 'x-mine': 'the secret' }),
  }),
  sample('gitlab', 'x-gitlab-token', { headers: () => ({ 'x-gitlab-token': 'the secret' }) }),
  sample('telegram', 'x-telegram-bot-api-secret-token', {
    headers: () => ({ 'x-telegram-bot-api-secret-token': 'the secret' }),
  }),
  sample('hmac', 'x-sig', {
    what: 'hmac with nothing but a header',
    auth: { scheme: 'hmac', header: 'X-Sig', secret: 'the secret' },
    wrong: { scheme: 'hmac', header: 'X-Sig', secret: 'other' },
    headers: () => ({ 'x-sig': hmac('hex', body) }),
  }),
  sample('hmac', 'x-sig', {
    what: 'hmac with everything',
    auth: {
      scheme: 'hmac',
      header: 'X-Sig',
      algorithm: 'sha512',
      encoding: 'base64',
      prefix: 'h1:',
      separator: ';',
      secretEncoding: 'base64',
      secret: base64Secret,
      signed: '{method} {url} {headers.X-Id} {timestamp}:{body}',
      timestampHeader: 'X-Time',
      timestampUnit: 'ms',
      toleranceSeconds: 30,
    },
    wrong: {
      scheme: 'hmac',
      header: 'X-Sig',
      algorithm: 'sha512',
      encoding: 'base64',
      prefix: 'h1:',
      separator: ';',
      secret: base64Secret,
      signed: '{method} {url} {headers.X-Id} {timestamp}:{body}',
      timestampHeader: 'X-Time',
      timestampUnit: 'ms',
      toleranceSeconds: 30,
    },
    tolerance: 30,
    unit: 'ms',
    headers: (time) => ({
      'x-id': 'i1',
      'x-time': time,
      'x-sig': `h1:${hmac('base64', `POST ${url} i1 ${time}:${body}`, { secret: secretBytes, algorithm: 'sha512' })}`,
    }),
  }),
  sample('hmac', 'paddle-signature', {
    what: 'hmac with the time in the header of the signature',
    auth: {
      scheme: 'hmac',
      header: 'paddle-signature',
      separator: ';',
      prefix: 'h1=',
      timestampPrefix: 'ts=',
      signed: '{timestamp}:{body}',
      secret: 'the secret',
    },
    wrong: {
      scheme: 'hmac',
      header: 'paddle-signature',
      separator: ';',
      prefix: 'h1=',
      timestampPrefix: 'ts=',
      signed: '{timestamp}:{body}',
      secret: 'other',
    },
    tolerance: 300,
    headers: (time) => ({ 'paddle-signature': `ts=${time};h1=${hmac('hex', `${time}:${body}`)}` }),
  }),
  standard('webhook', 'standard-webhooks'),
  standard('svix', 'standard-webhooks'),
  standard('svix', 'svix'),
  sample('standard-webhooks', 'webhook-signature', {
    what: 'standard-webhooks with a key pair',
    auth: { scheme: 'standard-webhooks', secret: `whpk_${rawKey(keys).toString('base64')}` },
    wrong: { scheme: 'standard-webhooks', secret: `whpk_${rawKey(otherKeys).toString('base64')}` },
    tolerance: 300,
    headers: (time) => ({
      'webhook-id': 'msg_1',
      'webhook-timestamp': time,
      'webhook-signature': `v1a,${signEd25519(`msg_1.${time}.${body}`, 'base64')}`,
    }),
  }),
  sample('github', 'x-hub-signature-256', {
    headers: () => ({ 'x-hub-signature-256': `sha256=${hmac('hex', body)}` }),
  }),
  sample('meta', 'x-hub-signature-256', { headers: () => ({ 'x-hub-signature-256': `sha256=${hmac('hex', body)}` }) }),
  sample('jira', 'x-hub-signature', { headers: () => ({ 'x-hub-signature': `sha256=${hmac('hex', body)}` }) }),
  sample('sentry', 'sentry-hook-signature', { headers: () => ({ 'sentry-hook-signature': hmac('hex', body) }) }),
  sample('shopify', 'x-shopify-hmac-sha256', { headers: () => ({ 'x-shopify-hmac-sha256': hmac('base64', body) }) }),
  ...['gitea', 'forgejo', 'gogs'].map((name) =>
    sample('gitea', `x-${name}-signature`, {
      what: `gitea in x-${name}-signature`,
      headers: () => ({ [`x-${name}-signature`]: hmac('hex', body) }),
    }),
  ),
  sample('netlify', 'x-webhook-signature', { headers: () => ({ 'x-webhook-signature': netlifyToken() }) }),
  sample('pagerduty', 'x-pagerduty-signature', {
    headers: () => ({ 'x-pagerduty-signature': `v1=${hmac('hex', body)}` }),
  }),
  sample('stripe', 'stripe-signature', {
    tolerance: 300,
    headers: (time) => ({ 'stripe-signature': `t=${time},v1=${hmac('hex', `${time}.${body}`)}` }),
  }),
  sample('slack', 'x-slack-signature', {
    tolerance: 300,
    headers: (time) => ({
      'x-slack-request-timestamp': time,
      'x-slack-signature': `v0=${hmac('hex', `v0:${time}:${body}`)}`,
    }),
  }),
  sample('zoom', 'x-zm-signature', {
    tolerance: 300,
    headers: (time) => ({
      'x-zm-request-timestamp': time,
      'x-zm-signature': `v0=${hmac('hex', `v0:${time}:${body}`)}`,
    }),
  }),
  {
    ...sample('linear', 'linear-signature', { headers: () => ({}) }),
    tolerance: 60,
    unit: 'ms',
    send: (time) => {
      const timed = `{"action":"create","type":"Issue","webhookTimestamp":${time}}`
      return { headers: { 'linear-signature': hmac('hex', timed) }, body: timed, url }
    },
  },
  sample('discord', 'x-signature-ed25519', {
    auth: { scheme: 'discord', secret: rawKey(keys).toString('hex') },
    wrong: { scheme: 'discord', secret: rawKey(otherKeys).toString('hex') },
    tolerance: 300,
    headers: (time) => ({
      'x-signature-timestamp': time,
      'x-signature-ed25519': signEd25519(time + body, 'hex'),
    }),
  }),
  {
    ...sample('twilio', 'x-twilio-signature', { headers: () => ({}) }),
    what: 'twilio with a form',
    send: () => ({
      headers: { 'x-twilio-signature': hmac('base64', formText, { algorithm: 'sha1' }) },
      body: form,
      url,
    }),
  },
  {
    ...sample('twilio', 'x-twilio-signature', { headers: () => ({}) }),
    what: 'twilio with JSON',
    send: () => {
      const hashed = `${url}&bodySHA256=${createHash('sha256').update(body).digest('hex')}`
      return { headers: { 'x-twilio-signature': hmac('base64', hashed, { algorithm: 'sha1' }) }, body, url: hashed }
    },
  },
]

/** The timestamp as this sender writes it, some seconds off. */
export const stamp = ({ unit = 's' }: Pick<Sample, 'unit'>, offSeconds = 0): string =>
  String(Math.floor(now / 1000 + offSeconds) * (unit === 'ms' ? 1000 : 1))

export const requestOf = ({ headers, body, url }: Omit<Sent, 'body'> & { body: string | Buffer }): SignedRequest => ({
  header: (name) => headers[name],
  rawBody: Buffer.from(body as string),
  method: 'POST',
  url: () => url,
  now,
})
