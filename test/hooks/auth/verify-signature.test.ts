// Signatures of every scheme: only valid ones are accepted; third-party signers serve as a cross-check.
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sign as signAsGithub } from '@octokit/webhooks-methods'
import { verifyKey } from 'discord-interactions'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { HookAuth } from '../../../core/config/schema/hook-auth.ts'
import { compileCheck } from '../../../core/typebox.ts'
import { createVerifier, HookAuthSchema, hookAuthRules, hookSchemes } from '../schemes.ts'
import { now, requestOf, type Sample, samples, type Sent, stamp } from '../signing.ts'

const judge = (auth: HookAuth, sent: Omit<Sent, 'body'> & { body: string | Buffer }, at = now) =>
  createVerifier(auth).verify({ ...requestOf(sent), now: at })

/** A signature in hexadecimal digits. */
const hexPattern = /(?<=^|[=,])[\da-f]{40,}/gi

const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64')

/** Every text that differs from `text` in one bit. */
const flips = (text: Buffer): Buffer[] =>
  Array.from({ length: text.length * 8 }, (_, bit) => {
    const flipped = Buffer.from(text)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return flipped
  })

/** Twilio signs the values of a form, not their spelling: `%2B` equals `%2b`. */
const isSameForm = (a: string, b: string): boolean =>
  JSON.stringify([...new URLSearchParams(a)]) === JSON.stringify([...new URLSearchParams(b)])

describe('the table of schemes', () => {
  it('is covered completely', () => {
    expect([...new Set(samples.map(({ scheme }) => scheme)), 'google-oidc'].toSorted()).toEqual(
      [...hookSchemes].toSorted(),
    )
  })
})

describe.each(samples)('$what', (sample: Sample) => {
  const { auth, wrong, header } = sample
  const sent = sample.send(stamp(sample))
  const signsBody = !['token', 'gitlab', 'telegram'].includes(sample.scheme)
  const isForm = sample.what === 'twilio with a form'

  it('accepts a valid signature', async () => {
    expect(compileCheck(HookAuthSchema).problems(auth)).toEqual([])
    expect([...hookAuthRules(auth, 'https://gateway.example.com')]).toEqual([])
    expect(await judge(auth, sent)).toMatchObject({ ok: true, secretIndex: 0 })
  })

  if (signsBody)
    it('rejects a body that differs in one bit', async () => {
      const verifier = createVerifier(auth)
      const changed = flips(Buffer.from(sent.body)).filter((body) => !isForm || !isSameForm(body.toString(), sent.body))
      const verdicts = await Promise.all(changed.map(async (body) => verifier.verify(requestOf({ ...sent, body }))))
      expect(verdicts.length).toBeGreaterThan(40)
      expect(verdicts.filter(({ ok }) => ok)).toEqual([])
    })

  it('rejects a signature that differs in one bit', async () => {
    const verifier = createVerifier(auth)
    const given = sent.headers[header] ?? ''
    // The word "Bearer" may be written in any letters.
    const start = given.startsWith('Bearer ') ? 'Bearer '.length : 0
    // So may hexadecimal digits.
    const inLowerCase = (value: string) => value.replaceAll(hexPattern, (digits) => digits.toLowerCase())
    const changed = flips(Buffer.from(given.slice(start)))
      .map((flipped) => given.slice(0, start) + flipped.toString('latin1'))
      .filter((value) => inLowerCase(value) !== given)
    const verdicts = await Promise.all(
      changed.map(async (value) =>
        verifier.verify(requestOf({ ...sent, headers: { ...sent.headers, [header]: value } })),
      ),
    )
    expect(verdicts.length).toBeGreaterThan(40)
    expect(changed.filter((_, index) => verdicts[index]?.ok)).toEqual([])
  })

  if (signsBody && !isForm)
    it('rejects a body that was parsed and serialized again', async () => {
      const body = JSON.stringify(JSON.parse(sent.body), undefined, 1)
      expect(await judge(auth, { ...sent, body })).toMatchObject({ ok: false })
    })

  it('rejects another secret, and a missing, empty or arbitrary header', async () => {
    expect(await judge(wrong, sent)).toMatchObject({ ok: false })
    const { [header]: _signature, ...others } = sent.headers
    expect(await judge(auth, { ...sent, headers: others })).toMatchObject({ ok: false })
    for (const value of [
      '',
      ' ',
      'x',
      '=',
      ',',
      'v1=',
      'sha256=',
      'v1,',
      '\0',
      'é'.repeat(64),
      'a'.repeat(16_000),
      ','.repeat(16_000),
    ]) {
      expect(await judge(auth, { ...sent, headers: { ...sent.headers, [header]: value } })).toMatchObject({ ok: false })
    }
  })

  it('never reveals the expected signature in its reason', async () => {
    const verdict = await judge(wrong, sent)
    expect(JSON.stringify(verdict)).not.toContain((sent.headers[header] ?? '').slice(-12))
    expect(JSON.stringify(verdict)).not.toContain('secret"')
  })

  const { secret, ...rest } = auth
  const other = wrong.secret
  if (secret !== undefined && other !== undefined && wrong.secretEncoding === auth.secretEncoding)
    it('accepts several secrets at once, each until its notAfter', async () => {
      expect(await judge({ ...rest, secrets: [other, secret] }, sent)).toMatchObject({ ok: true, secretIndex: 1 })
      const until = (time: number) => ({
        ...rest,
        secrets: [other, { secret, notAfter: new Date(time).toISOString() }],
      })
      expect(await judge(until(now), sent)).toMatchObject({ ok: true, secretIndex: 1 })
      expect(await judge(until(now - 1), sent)).toMatchObject({ ok: false })
    })

  it('hides its header', () => {
    const { hiddenHeaders } = createVerifier(auth)
    expect([...hiddenHeaders, 'authorization', 'x-svc-token']).toContain(header)
  })
})

describe.each(samples.filter(({ tolerance }) => tolerance !== undefined))('the timestamp of $what', (sample) => {
  const tolerance = sample.tolerance ?? 0

  it.each([-tolerance, -1, 0, 1, tolerance])('may be %i s off', async (off) => {
    expect(await judge(sample.auth, sample.send(stamp(sample, off)))).toMatchObject({ ok: true })
  })

  it.each([-tolerance - 1, tolerance + 1, -86_400, 86_400 * 365])('must not be %i s off', async (off) => {
    expect(await judge(sample.auth, sample.send(stamp(sample, off)))).toMatchObject({ ok: false })
  })

  it('must not be in another unit', async () => {
    const other = sample.unit === 'ms' ? 's' : 'ms'
    expect(await judge(sample.auth, sample.send(stamp({ unit: other })))).toMatchObject({ ok: false })
  })

  it.each([
    '-1',
    `-${stamp(sample)}`,
    'NaN',
    '1e309',
    '1e9',
    'Infinity',
    '',
    ' ',
    '0x5',
    `${stamp(sample)}.5`,
    `+${stamp(sample)}`,
    '9'.repeat(400),
    'null',
  ])('must not be %j, whatever is signed', async (time) => {
    expect(await judge(sample.auth, sample.send(time))).toMatchObject({ ok: false })
  })

  it('has the configured tolerance', async () => {
    const auth = { ...sample.auth, toleranceSeconds: 10 }
    expect(await judge(auth, sample.send(stamp(sample, -10)))).toMatchObject({ ok: true })
    expect(await judge(auth, sample.send(stamp(sample, -11)))).toMatchObject({ ok: false })
  })

  if (sample.unit !== 'ms')
    it('is compared in whole seconds when the sender counts in seconds', async () => {
      const oldest = sample.send(stamp(sample, -tolerance))
      expect(await judge(sample.auth, oldest, now + 999)).toMatchObject({ ok: true })
      expect(await judge(sample.auth, oldest, now + 1000)).toMatchObject({ ok: false })
    })
})

describe('values that the services publish', () => {
  it('of GitHub', async () => {
    const headers = { 'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17' }
    const auth: HookAuth = { scheme: 'github', secret: "It's a Secret to Everybody" }
    expect(await judge(auth, { headers, body: 'Hello, World!', url: '' })).toMatchObject({ ok: true })
  })

  it('of Standard Webhooks', async () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    }
    const auth: HookAuth = { scheme: 'standard-webhooks', secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }
    expect(await judge(auth, { headers, body: '{"test": 2432232314}', url: '' }, 1_614_265_330_000)).toMatchObject({
      ok: true,
    })
  })

  it('of Twilio', async () => {
    const body = 'CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212'
    const sent = {
      headers: { 'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' },
      body,
      url: 'https://mycompany.com/myapp.php?foo=1&bar=2',
    }
    expect(await judge({ scheme: 'twilio', secret: '12345' }, sent)).toMatchObject({ ok: true })
    const behindProxy = { ...sent, url: 'http://127.0.0.1:18789/hooks/twilio' }
    expect(await judge({ scheme: 'twilio', secret: '12345' }, behindProxy)).toMatchObject({ ok: false })
    expect(await judge({ scheme: 'twilio', secret: '12345', url: sent.url }, behindProxy)).toMatchObject({ ok: true })
  })
})

describe('the id of a request', () => {
  it('is the signed one, whatever other ids are sent', async () => {
    const sample = samples.find(({ what }) => what === 'standard-webhooks as svix-*')!
    const sent = sample.send(stamp(sample))
    expect(await judge(sample.auth, { ...sent, headers: { ...sent.headers, 'webhook-id': 'msg_2' } })).toMatchObject({
      ok: true,
      id: 'msg_1',
    })
    expect(await judge(sample.auth, { ...sent, headers: { ...sent.headers, 'svix-id': 'msg_2' } })).toMatchObject({
      ok: false,
    })
  })
})

describe('a form of Twilio', () => {
  it('signs a repeated value of a field once, whatever the order', async () => {
    const url = 'https://example.com/hook'
    const signature = createHmac('sha1', 's').update(`${url}A1A2B0`).digest('base64')
    const sent = { headers: { 'x-twilio-signature': signature }, body: 'B=0&A=2&A=1&A=2', url }
    expect(await judge({ scheme: 'twilio', secret: 's' }, sent)).toMatchObject({ ok: true })
  })
})

describe('the signature of a third-party signer', () => {
  const body = '{"hello":"Grüße 🌍"}'

  it('is accepted from standardwebhooks', async () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const headers = {
      'webhook-id': 'msg_2',
      'webhook-timestamp': stamp({}),
      'webhook-signature': new Webhook(secret).sign('msg_2', new Date(now), body),
    }
    expect(await judge({ scheme: 'standard-webhooks', secret }, { headers, body, url: '' })).toMatchObject({ ok: true })
  })

  it('is accepted from @octokit/webhooks-methods', async () => {
    const headers = { 'x-hub-signature-256': await signAsGithub('the secret', body) }
    expect(await judge({ scheme: 'github', secret: 'the secret' }, { headers, body, url: '' })).toMatchObject({
      ok: true,
    })
  })

  it('is verified with the same result by discord-interactions', async () => {
    const discord = samples.find(({ scheme }) => scheme === 'discord')
    const sent = discord?.send(stamp({}))
    const signature = sent?.headers['x-signature-ed25519'] ?? ''
    expect(await verifyKey(sent?.body ?? '', signature, stamp({}), discord?.auth.secret ?? '')).toBe(true)
  })
})

describe('one signature among several', () => {
  const header = (scheme: HookAuth['scheme'], what: (given: string) => string) => {
    const sample = samples.find((one) => one.scheme === scheme)!
    const sent = sample.send(stamp(sample))
    return judge(sample.auth, {
      ...sent,
      headers: { ...sent.headers, [sample.header]: what(sent.headers[sample.header] ?? '') },
    })
  }

  it.each<[HookAuth['scheme'], (given: string) => string]>([
    ['standard-webhooks', (given) => `v1,bm9wZQ== v1a,bm9wZQ== ${given} v2,x`],
    ['stripe', (given) => `${given},v1=${'0'.repeat(64)},v0=${'1'.repeat(64)}`],
    ['stripe', (given) => given.replace(',v1=', `,v1=${'0'.repeat(64)},v1=`)],
    ['pagerduty', (given) => `v1=${'0'.repeat(64)},${given}`],
    ['pagerduty', (given) => `${given}, v1=${'0'.repeat(64)}`],
  ])('is enough: %s', async (scheme, what) => {
    expect(await header(scheme, what)).toMatchObject({ ok: true })
  })

  it.each<[HookAuth['scheme'], (given: string) => string]>([
    ['standard-webhooks', (given) => given.replace('v1,', 'v2,')],
    ['stripe', (given) => given.replace('v1=', 'v0=')],
    ['pagerduty', (given) => given.replace('v1=', '')],
    ['github', (given) => given.replace('sha256=', 'sha1=')],
    ['slack', (given) => given.replace('v0=', '')],
  ])('is not accepted in another version: %s', async (scheme, what) => {
    expect(await header(scheme, what)).toMatchObject({ ok: false })
  })
})

describe('a signature in hexadecimal digits', () => {
  const hex = samples.flatMap((sample) => {
    const sent = sample.send(stamp(sample))
    const given = sent.headers[sample.header] ?? ''
    const odd = given.replaceAll(hexPattern, (digits) => ` ${digits.toUpperCase()}`)
    return odd === given ? [] : [{ sample, sent: { ...sent, headers: { ...sent.headers, [sample.header]: odd } } }]
  })

  it('is valid in upper case and after a blank, and wrong with another digit', async () => {
    expect(hex.length).toBeGreaterThan(8)
    for (const { sample, sent } of hex) {
      const valid = await judge(sample.auth, sent)
      const given = sent.headers[sample.header] ?? ''
      const other = given.replace(/[0-9A-F]$/, (digit) => (digit === 'A' ? 'B' : 'A'))
      const headers = { ...sent.headers, [sample.header]: other }
      const wrong = await judge(sample.auth, { ...sent, headers })
      expect([sample.what, valid.ok, wrong.ok]).toEqual([sample.what, true, false])
    }
  })
})

describe('a header', () => {
  it('is not read from another place than the service uses', async () => {
    for (const scheme of ['gitlab', 'telegram'] as const) {
      const headers = { authorization: 'Bearer the secret', 'x-svc-token': 'the secret' }
      expect(await judge({ scheme, secret: 'the secret' }, { headers, body: '{}', url: '' })).toMatchObject({
        ok: false,
      })
    }
  })

  it('that is repeated is rejected by the routes', () => {
    const header = () => {
      throw new Error('repeated')
    }
    expect(() =>
      createVerifier({ scheme: 'github', secret: 's' }).verify({
        ...requestOf({ headers: {}, body: '', url: '' }),
        header,
      }),
    ).toThrow('repeated')
  })

  it('with hundreds of signatures is read only up to a limit', async () => {
    const sample = samples.find(({ what }) => what === 'standard-webhooks with a key pair')
    const sent = sample?.send(stamp({}))
    const real = sent?.headers['webhook-signature'] ?? ''
    const headers = { ...sent?.headers, 'webhook-signature': `${'v1a,AAAA '.repeat(16)}${real}` }
    expect(await judge(sample!.auth, { ...sent!, headers })).toMatchObject({ ok: false })
  })
})

describe('a handshake', () => {
  const ask = async (scheme: HookAuth['scheme'], body: string) => {
    const sample = samples.find((one) => one.scheme === scheme)!
    // Slack and Zoom sign alike.
    const signature = `v0=${createHmac('sha256', 'the secret')
      .update(`v0:${stamp({})}:${body}`)
      .digest('hex')}`
    const timeHeader = scheme === 'slack' ? 'x-slack-request-timestamp' : 'x-zm-request-timestamp'
    return await judge(sample.auth, { headers: { [sample.header]: signature, [timeHeader]: stamp({}) }, body, url: '' })
  }

  it('of Slack is answered with the challenge', async () => {
    const verdict = await ask('slack', '{"type":"url_verification","challenge":"<b>c</b>"}')
    expect(verdict).toMatchObject({
      ok: true,
      handshake: { contentType: 'text/plain; charset=utf-8', body: '<b>c</b>' },
    })
  })

  it('of Zoom is answered with the signed token', async () => {
    const verdict = await ask(
      'zoom',
      '{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}',
    )
    expect(verdict).toMatchObject({ ok: true })
    const { plainToken, encryptedToken } = JSON.parse(
      (verdict as { handshake: { body: string } }).handshake.body,
    ) as Record<string, string>
    expect(plainToken).toBe('qgg8vlvZRS6UYooatFL8Aw')
    expect(encryptedToken).toMatch(/^[0-9a-f]{64}$/)
  })

  it('of Meta is answered when the token is right', () => {
    const { answerChallenge: challenge } = createVerifier({ scheme: 'meta', secret: 's', verifyToken: 'agreed' })
    const query = (token: string) =>
      new URLSearchParams({ 'hub.mode': 'subscribe', 'hub.verify_token': token, 'hub.challenge': '1158201444' })
    expect(challenge?.(query('agreed'))).toEqual({ contentType: 'text/plain; charset=utf-8', body: '1158201444' })
    expect(challenge?.(query('other'))).toBeUndefined()
    expect(challenge?.(new URLSearchParams({ 'hub.challenge': '1' }))).toBeUndefined()
    expect(createVerifier({ scheme: 'github', secret: 's' }).answerChallenge).toBeUndefined()
  })

  it.each([
    '{"type":"event_callback","challenge":"c"}',
    '{"type":"url_verification"}',
    '{"type":"url_verification","challenge":5}',
    'null',
    '[]',
    '"text"',
    'no JSON',
  ])('is not found in %s', async (body) => {
    expect(await ask('slack', body)).toMatchObject({ ok: true, handshake: undefined })
  })

  it('is not answered without a valid signature', async () => {
    expect(
      await judge(
        { scheme: 'slack', secret: 'x' },
        { headers: {}, body: '{"type":"url_verification","challenge":"c"}', url: '' },
      ),
    ).toMatchObject({
      ok: false,
    })
  })

  it('does not exist for other schemes', async () => {
    const body = '{"type":"url_verification","challenge":"c"}'
    const headers = { 'x-hub-signature-256': await signAsGithub('the secret', body) }
    const verdict = await judge({ scheme: 'github', secret: 'the secret' }, { headers, body, url: '' })
    expect(verdict).toMatchObject({ ok: true })
    expect(verdict).not.toHaveProperty('handshake')
  })
})

describe('Discord', () => {
  it('gets a reply to its ping', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const secret = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex')
    const signed = (body: string) => ({
      'x-signature-timestamp': stamp({}),
      'x-signature-ed25519': sign(null, Buffer.from(stamp({}) + body), privateKey).toString('hex'),
    })
    expect(
      await judge({ scheme: 'discord', secret }, { headers: signed('{"type":1}'), body: '{"type":1}', url: '' }),
    ).toMatchObject({
      handshake: { body: '{"type":1}' },
    })
    expect(
      await judge({ scheme: 'discord', secret }, { headers: signed('{"type":2}'), body: '{"type":2}', url: '' }),
    ).toMatchObject({
      ok: true,
      handshake: undefined,
    })
  })
})

describe('google-oidc', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 })
  let server: Server
  let asked: number
  let answer: () => { status: number; body: string; headers?: Record<string, string> }
  let auth: HookAuth

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    asked = 0
    answer = () => ({
      status: 200,
      body: JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'RS256', use: 'sig' }] }),
    })
    server = createServer((_request, response) => {
      asked += 1
      const { status, body, headers } = answer()
      response.writeHead(status, headers).end(body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const keysUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/certs`
    auth = {
      scheme: 'google-oidc',
      audience: 'https://gateway.example.com/hooks/gmail',
      email: 'push@project.iam.gserviceaccount.com',
      keysUrl,
    }
  })
  afterEach(() => {
    vi.useRealTimers()
    return new Promise<void>((resolve) => void server.close(() => resolve()))
  })

  const claims = {
    iss: 'https://accounts.google.com',
    aud: 'https://gateway.example.com/hooks/gmail',
    email: 'push@project.iam.gserviceaccount.com',
    email_verified: true,
    exp: now / 1000 + 3600,
  }
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  function jwt(more: object = {}, { head = {}, key = privateKey } = {}) {
    const text = `${encode({ alg: 'RS256', kid: 'k1', typ: 'JWT', ...head })}.${encode({ ...claims, ...more })}`
    return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`
  }
  const sentWith = (token: string) => ({ headers: { authorization: `Bearer ${token}` }, body: '{}', url: '' })

  it('accepts a token that Google signed for this hook', async () => {
    expect([...hookAuthRules(auth)]).toEqual([])
    expect(await judge(auth, sentWith(jwt()))).toMatchObject({ ok: true })
    expect(await judge(auth, sentWith(jwt({ iss: 'accounts.google.com' })))).toMatchObject({ ok: true })
    expect(await judge(auth, sentWith(jwt({ exp: now / 1000 - 60 })))).toMatchObject({ ok: true })
  })

  it.each([
    ['of another audience', { aud: 'https://gateway.example.com/' }],
    ['of another issuer', { iss: 'https://accounts.example.com' }],
    ['of another account', { email: 'push@other.iam.gserviceaccount.com' }],
    ['of an account that is not verified', { email_verified: false }],
    ['of one that only says so', { email_verified: 'true' }],
    ['that has expired', { exp: now / 1000 - 61 }],
    ['that never expires', { exp: undefined }],
    ['that expires at no time', { exp: '9999999999' }],
  ])('rejects a token %s', async (_case, more) => {
    expect(await judge(auth, sentWith(jwt(more)))).toMatchObject({ ok: false })
  })

  it('rejects a token with another signer or algorithm', async () => {
    expect(await judge(auth, sentWith(jwt({}, { key: stranger.privateKey })))).toMatchObject({ ok: false })
    for (const head of [
      { alg: 'none' },
      { alg: 'HS256' },
      { alg: 'RS512' },
      { kid: undefined },
      { kid: '__proto__' },
    ]) {
      expect(await judge(auth, sentWith(jwt({}, { head })))).toMatchObject({ ok: false })
    }
    const [head, , signature] = jwt().split('.')
    for (const token of [
      `${head}.${encode({ ...claims, sub: 'x' })}.${signature}`,
      `${head}.${encode(claims)}.`,
      'a.b.c',
      'a.b',
      '',
      '....',
      'bnVsbA.bnVsbA.x',
    ]) {
      expect(await judge(auth, sentWith(token))).toMatchObject({ ok: false })
    }
    expect(await judge(auth, { headers: {}, body: '{}', url: '' })).toMatchObject({ ok: false })
  })

  it('caches keys, and fetches them again for an unknown key, but not for every request', async () => {
    answer = withMaxAge(answer, 600)
    const verifier = createVerifier(auth)
    const at = (ms: number, token = jwt()) => {
      vi.setSystemTime(now + ms)
      return verifier.verify({ ...requestOf(sentWith(token)), now: now + ms })
    }
    await Promise.all([at(0), at(0), at(0)])
    expect(asked).toBe(1)
    for (const ms of [1, 2, 3]) expect(await at(ms, jwt({}, { head: { kid: 'made-up' } }))).toMatchObject({ ok: false })
    expect(asked).toBe(1)
    expect(await at(60_000, jwt({}, { head: { kid: 'made-up' } }))).toMatchObject({ ok: false })
    expect(asked).toBe(2)
    await at(60_000 + 599_999)
    expect(asked).toBe(2)
    await at(60_000 + 600_000)
    expect(asked).toBe(3)
  })

  it('rejects a made-up key while its keys are valid, although the new ones cannot be fetched', async () => {
    const verifier = createVerifier(auth)
    const at = (ms: number, kid: string) => {
      vi.setSystemTime(now + ms)
      return verifier.verify({ ...requestOf(sentWith(jwt({}, { head: { kid } }))), now: now + ms })
    }
    expect(await at(0, 'k1')).toMatchObject({ ok: true })
    answer = () => ({ status: 500, body: 'no' })
    const unknown = { ok: false, reason: 'the token is not signed by its issuer' }
    expect(await at(60_000, 'made-up')).toEqual(unknown)
    expect(await at(60_001, 'made-up')).toEqual(unknown)
    expect(asked).toBe(2)
    expect(await at(60_002, 'k1')).toMatchObject({ ok: true })
  })

  it.each([
    ['an error', () => ({ status: 500, body: 'no' })],
    ['no keys', () => ({ status: 200, body: '{"keys":[]}' })],
    ['no JSON', () => ({ status: 200, body: '<html>' })],
    ['a way to elsewhere', () => ({ status: 302, body: '', headers: { location: 'http://127.0.0.1:1/' } })],
  ])('rejects with keys_unavailable while there are no keys, and retries: %s', async (_case, bad) => {
    const good = answer
    answer = bad
    const verifier = createVerifier(auth)
    const at = (ms: number) => {
      vi.setSystemTime(now + ms)
      return verifier.verify({ ...requestOf(sentWith(jwt())), now: now + ms })
    }
    await expect(at(0)).rejects.toMatchObject({ code: 'keys_unavailable', retryAfter: 5 })
    await expect(at(1)).rejects.toMatchObject({ code: 'keys_unavailable' })
    expect(asked).toBe(1)
    answer = good
    expect(await at(5000)).toMatchObject({ ok: true })
  })

  const withMaxAge = (plain: typeof answer, seconds: number) => () => ({
    ...plain(),
    headers: { 'cache-control': `public, max-age=${seconds}` },
  })
})

describe('the rules of auth', () => {
  it.each<[string, HookAuth]>([
    ['secret is required', { scheme: 'github' }],
    [
      'url has no effect unless signed contains {url}',
      { scheme: 'hmac', header: 'x', secret: 'a', url: 'https://x.example/y' },
    ],
    ['url is not supported by the scheme "github"', { scheme: 'github', secret: 'a', url: 'https://x.example/y' }],
    ['secrets cannot be combined with secret', { scheme: 'github', secret: 'a', secrets: ['b'] }],
    ['header is required for hmac', { scheme: 'hmac', secret: 'a' }],
    ['header is not supported by the scheme "github"', { scheme: 'github', secret: 'a', header: 'x' }],
    [
      'toleranceSeconds is not supported by the scheme "github"',
      { scheme: 'github', secret: 'a', toleranceSeconds: 5 },
    ],
    [
      'signed must contain {body}',
      { scheme: 'hmac', header: 'x', secret: 'a', signed: '{timestamp}', timestampHeader: 't' },
    ],
    [
      'separator is required with timestampPrefix',
      { scheme: 'hmac', header: 'x', secret: 'a', timestampPrefix: 't=', signed: '{timestamp}.{body}' },
    ],
    ['signed must contain {timestamp}', { scheme: 'hmac', header: 'x', secret: 'a', timestampHeader: 't' }],
    ['signed contains {timestamp}; set', { scheme: 'hmac', header: 'x', secret: 'a', signed: '{timestamp}{body}' }],
    ['signed may contain {body}', { scheme: 'hmac', header: 'x', secret: 'a', signed: '{body}{id}' }],
    [
      'timestampPrefix cannot be combined with',
      {
        scheme: 'hmac',
        header: 'x',
        secret: 'a',
        signed: '{timestamp}{body}',
        timestampHeader: 't',
        timestampPrefix: 't=',
      },
    ],
    ['secret must be encoded in hex', { scheme: 'hmac', header: 'x', secret: 'xyz', secretEncoding: 'hex' }],
    ['secret must be a secret such as whsec_', { scheme: 'standard-webhooks', secret: 'not base64!' }],
    ['secrets.1 must be the public key', { scheme: 'discord', secrets: ['0'.repeat(64), 'abc'] }],
    ['secrets.0.notAfter must be a time', { scheme: 'github', secrets: [{ secret: 'a', notAfter: 'soon' }] }],
    ['secret is not supported', { scheme: 'google-oidc', secret: 'a', audience: 'a', email: 'e' }],
    ['audience is required', { scheme: 'google-oidc', email: 'e' }],
    ['email is required', { scheme: 'google-oidc', audience: 'a' }],
    ['keysUrl must be a URL', { scheme: 'google-oidc', audience: 'a', email: 'e', keysUrl: 'file:///etc/passwd' }],
    [
      'secret must be a public key such as whpk_… with 32 bytes in base64; it has 31',
      { scheme: 'standard-webhooks', secret: `whpk_${base64(31)}` },
    ],
    [
      'secret must be a public key such as whpk_… with 32 bytes in base64; it has 33',
      { scheme: 'svix', secret: `whpk_${base64(33)}` },
    ],
    [
      'secrets.1 must be a public key such as whpk_…',
      { scheme: 'svix', secrets: [`whpk_${base64(32)}`, { secret: 'whpk_A', notAfter: '2030-01-31' }] },
    ],
    ['secret must be a secret such as whsec_…', { scheme: 'standard-webhooks', secret: 'whsec_A' }],
    ['secret must be a secret such as whsec_…', { scheme: 'standard-webhooks', secret: 'whsec_' }],
    ['secret must be a secret such as whsec_…', { scheme: 'standard-webhooks', secret: 'WHSEC_c2VjcmV0' }],
    ['secret must be a secret such as whsec_…', { scheme: 'standard-webhooks', secret: 'whsk_c2VjcmV0' }],
    ['secret must be encoded in base64', { scheme: 'hmac', header: 'x', secret: 'A', secretEncoding: 'base64' }],
    ['secret must be encoded in base64', { scheme: 'hmac', header: 'x', secret: 'YWJjZ', secretEncoding: 'base64' }],
    ['secret must be encoded in hex', { scheme: 'hmac', header: 'x', secret: 'abc', secretEncoding: 'hex' }],
    ['secret must be the public key of the application', { scheme: 'discord', secret: 'ab'.repeat(31) }],
  ])('report: %s', (sentence, auth) => {
    const found = [...hookAuthRules(auth)].map(({ keys, problem }) => `${keys.join('.')} ${problem}`)
    expect(found).toHaveLength(1)
    expect(found[0]).toContain(sentence)
  })

  it('name the key of a secret and never its value', () => {
    const secret = `whpk_${Buffer.from('a secret that nobody may read').toString('base64')}`
    const text = [...hookAuthRules({ scheme: 'svix', secrets: [secret] })]
      .map(({ keys, problem }) => keys.join('.') + problem)
      .join('')
    expect(text).toContain('secrets.0')
    expect(text).not.toContain(secret.slice(5, 12))
  })

  it.each(hookSchemes)('accept no secret of the scheme %s that its verifier cannot use', (scheme) => {
    const texts = [
      'A',
      'AA',
      'AAAAA',
      '=',
      '==',
      '====',
      'é',
      'whsec_',
      'whsec_A',
      'whsec_AA',
      'whsec_=',
      'whpk_',
      'whpk_A',
      'whpk_AA',
      '0',
      '00',
      'zz',
      ' x ',
      base64(31),
      base64(32),
      base64(33),
    ]
    const prefixed = texts.flatMap((text) => [text, `whpk_${text}`, `whsec_${text}`])
    const unusable: string[] = []
    for (const secretEncoding of ['utf8', 'hex', 'base64'] as const) {
      for (const secret of prefixed) {
        const auth: HookAuth = { scheme, secret, ...(scheme === 'hmac' && { header: 'x', secretEncoding }) }
        if ([...hookAuthRules(auth, 'https://x.example')].length > 0) continue
        const { prefix = '' } = /^(?<prefix>whsec_|whpk_)/.exec(secret)?.groups ?? {}
        const encoding =
          scheme === 'hmac'
            ? secretEncoding
            : scheme === 'discord'
              ? 'hex'
              : ['svix', 'standard-webhooks'].includes(scheme)
                ? 'base64'
                : 'utf8'
        const bytes = Buffer.from(
          encoding === 'base64' && scheme !== 'hmac' ? secret.slice(prefix.length) : secret,
          encoding,
        )
        createVerifier(auth)
        if (bytes.length === 0) unusable.push(secret)
      }
    }
    expect(unusable).toEqual([])
  })
})
