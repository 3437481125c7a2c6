// Signatures that cover the URL behind a TLS proxy: the gateway must know the URL that the sender called.
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startGateway, writeConfig } from '../../helpers.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }
const quiet = { deliver: false, wakeMode: 'next-heartbeat', messageTemplate: 'x' }
const secret = 'a secret of the sender'
const publicUrl = 'https://hooks.example.com/gw'
const without = { authorization: '' }
const sha1 = (text: string) => createHmac('sha1', secret).update(text).digest('base64')
const sha256 = (text: string) => createHmac('sha256', secret).update(text).digest('hex')

const hmac = { scheme: 'hmac', header: 'X-Sign', secret, signed: '{url}{body}' }
const twilio = { scheme: 'twilio', secret }

/** Mappings whose signatures cover the URL; `url` is part of the auth of each. */
const mappingsWith = (url?: string) => [
  { match: { path: 'hmac' }, auth: { ...hmac, ...(url && { url: `${url}/hooks/hmac` }) }, ...quiet },
  { match: { path: 'twilio' }, auth: { ...twilio, ...(url && { url: `${url}/hooks/twilio` }) }, ...quiet },
]

describe.each([
  ['gateway.publicUrl', { gateway: { publicUrl } }, mappingsWith()],
  ['gateway.publicUrl with a slash at its end', { gateway: { publicUrl: `${publicUrl}/` } }, mappingsWith()],
  ['auth.url', {}, mappingsWith(publicUrl)],
  [
    'auth.url beside another gateway.publicUrl',
    { gateway: { publicUrl: 'https://other.example.com' } },
    mappingsWith(publicUrl),
  ],
])('with %s', (_case, changes, mappings) => {
  it('the signature covers the URL that the sender called', async () => {
    const { post, get } = await startGateway({ agents, ...changes, hooks: { mappings } })

    const called = (target: string) => `${publicUrl}/hooks/${target}`
    const body = '{"id":7}'
    const send = (target: string, signed = called(target)) =>
      post(`/hooks/${target}`, body, { ...without, 'x-sign': sha256(signed + body) })
    expect((await send('hmac')).status).toBe(200)
    expect((await send('hmac?tenant=1')).status).toBe(200)
    expect((await send('hmac?tenant=2', called('hmac?tenant=1'))).status).toBe(401)
    expect((await send('hmac', 'http://127.0.0.1/hooks/hmac')).status).toBe(401)
    const { items } = (await get('/api/requests?hook=hmac&status=rejected')).body
    expect(items[0].error.message).toContain(
      'the signature is wrong; it covers the public URL, so check gateway.publicUrl',
    )

    const form = {
      ...without,
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': sha1(`${called('twilio')}BodyhiFrom+49`),
    }
    expect((await post('/hooks/twilio', 'From=%2B49&Body=hi', form)).status).toBe(200)
    const withHash = `twilio?bodySHA256=${createHash('sha256').update(body).digest('hex')}`
    const json = { ...without, 'content-type': 'application/json', 'x-twilio-signature': sha1(called(withHash)) }
    expect((await post(`/hooks/${withHash}`, body, json)).status).toBe(200)
    expect((await post(`/hooks/${withHash}`, '{"id":8}', json)).status).toBe(401)
    expect((await post(`/hooks/${withHash}&x=1`, body, json)).status).toBe(401)
  })
})

describe('the audience of google-oidc', () => {
  it('is the URL of the hook below gateway.publicUrl, also after a reload', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const keys = createServer((_request, response) =>
      response.end(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k' }] })),
    )
    await new Promise<void>((resolve) => keys.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void keys.close())
    const email = 'push@project.iam.gserviceaccount.com'
    const auth = { scheme: 'google-oidc', email, keysUrl: `http://127.0.0.1:${(keys.address() as AddressInfo).port}/` }
    const document = (address: string) => ({
      agents,
      gateway: { publicUrl: address },
      hooks: { path: '/in', mappings: [{ match: { path: 'a/b' }, auth, ...quiet }] },
    })
    const { gateway, post, dir } = await startGateway(document(publicUrl))

    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const bearer = (aud: string) => {
      const claims = {
        iss: 'https://accounts.google.com',
        aud,
        email,
        email_verified: true,
        exp: Date.now() / 1000 + 60,
      }
      const text = `${encode({ alg: 'RS256', kid: 'k' })}.${encode(claims)}`
      return {
        authorization: `Bearer ${text}.${sign('RSA-SHA256', Buffer.from(text), privateKey).toString('base64url')}`,
      }
    }
    expect((await post('/in/a/b', {}, bearer(`${publicUrl}/in/a/b`))).status).toBe(200)
    expect((await post('/in/a/b', {}, bearer(publicUrl))).status).toBe(401)
    writeConfig(dir, document('https://new.example.com'))
    await gateway.reload()
    expect((await post('/in/a/b', {}, bearer('https://new.example.com/in/a/b'))).status).toBe(200)
    expect((await post('/in/a/b', {}, bearer(`${publicUrl}/in/a/b`))).status).toBe(401)
  })
})
