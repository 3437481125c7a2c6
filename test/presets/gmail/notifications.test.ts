// Notifications of Pub/Sub: pushes with signed tokens, forged ones, and pulls.
import { OAuth2Client } from 'google-auth-library'
import { describe, expect, it } from 'vitest'
import { type GmailDouble, pushEmail, subscription, topic } from '../../doubles/gmail/gmail.ts'
import type { Forgery } from '../../doubles/gmail/tokens.ts'
import { share } from '../../share.ts'
import { audience, mailsOf, push, startDouble, startWatching, until, untilMails } from './watching.ts'

describe('a push', () => {
  it('makes the watch read the mailbox: three mails become three requests', async () => {
    const gmail = await startDouble()
    const running = await startWatching(gmail)
    expect(gmail.calls).toContain('POST /gmail/v1/users/me/watch')
    const ids = [gmail.addMail(), gmail.addMail(), gmail.addMail()]
    const [body, headers] = gmail.push(audience)
    expect(await running.post('/hooks/gmail', body, headers)).toMatchObject({ status: 200, body: { skipped: true } })
    expect(await isGoodForGoogle(gmail, headers['authorization']!)).toBe(true)
    await untilMails(running, ids)
    const next = gmail.addMail()
    await Promise.all([push(running, gmail), push(running, gmail)])
    await untilMails(running, [...ids, next])
  })
})

/** What Google's own library makes of the token. It does not know the service account. */
async function isGoodForGoogle({ tokens }: GmailDouble, authorization: string): Promise<boolean> {
  try {
    const ticket = await new OAuth2Client().verifySignedJwtWithCertsAsync(
      authorization.replace('Bearer ', ''),
      tokens.certificates,
      audience,
      ['https://accounts.google.com'],
    )
    return ticket.getPayload()?.email === pushEmail && ticket.getPayload()?.email_verified === true
  } catch {
    return false
  }
}

const hourAgo = Math.floor(Date.now() / 1000) - 3600

describe('the token of a push', () => {
  const shared = share(async () => {
    const gmail = await startDouble()
    return { gmail, running: await startWatching(gmail) }
  })

  it.each<[string, Forgery & { audience?: string }]>([
    ['for another audience', { audience: 'https://elsewhere.example.com/hooks/gmail' }],
    ['of another issuer', { claims: { iss: 'https://accounts.example.com' } }],
    ['of another service account', { claims: { email: 'mallory@p.iam.gserviceaccount.com' } }],
    ['of an account whose address is not verified', { claims: { email_verified: false } }],
    ['that has expired', { claims: { iat: hourAgo - 3600, exp: hourAgo } }],
    ['signed with another key', { hasWrongKey: true }],
    ['signed with an unknown key', { keyId: 'g2' }],
    ['that is not signed', { alg: 'none' }],
    ['signed with the public key as a secret', { alg: 'HS256' }],
  ])('is refused with 401 if it is one %s, and nothing is read', async (_what, { audience: other, ...forgery }) => {
    const { gmail, running } = shared()
    gmail.addMail()
    const [body, headers] = gmail.push(other ?? audience, forgery)
    const calls = gmail.calls.filter((call) => call.includes('/history')).length
    expect((await running.post('/hooks/gmail', body, headers)).status).toBe(401)
    expect(await isGoodForGoogle(gmail, headers['authorization']!)).toBe(false)
    expect(gmail.calls.filter((call) => call.includes('/history'))).toHaveLength(calls)
    expect(await mailsOf(running)).toEqual([])
  })

  it('is required', async () => {
    const { gmail, running } = shared()
    const [body] = gmail.push(audience)
    expect((await running.post('/hooks/gmail', body, { authorization: '' })).status).toBe(401)
  })
})

describe('a pull', () => {
  it('reads the mailbox and acknowledges the notification afterwards', async () => {
    const gmail = await startDouble()
    const running = await startWatching(gmail, { watch: { topic, subscription, pollSeconds: 86_400 } })
    gmail.failNext('/messages/', { status: 500 })
    const id = gmail.addMail()
    gmail.pubsub.publish()
    await untilMails(running, [id])
    await until(() => expect(gmail.pubsub.unacknowledged).toBe(0))
    expect(gmail.calls.findIndex((call) => call.endsWith(':acknowledge'))).toBeGreaterThan(
      gmail.calls.lastIndexOf(`GET /gmail/v1/users/me/messages/${id}`),
    )
    expect(running.logged.filter((line) => line.includes('was interrupted'))).toHaveLength(1)
  })
})
