// What the watch of a Gmail mailbox does when Google fails, limits it, or refuses it, and what it says then.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { account, refreshToken, subscription, topic } from '../../doubles/gmail/gmail.ts'
import type { Reply } from '../../doubles/gmail/routes.ts'
import type { RunningGateway } from '../../helpers.ts'
import { share } from '../../share.ts'
import {
  clientSecret,
  jobOf,
  mailsOf,
  push,
  start,
  startDouble,
  startWatching,
  until,
  untilMails,
  untilState,
} from './watching.ts'

type Logged = Pick<RunningGateway, 'logged'>

const count = ({ logged }: Logged, text: string): number => logged.filter((line) => line.includes(text)).length

function expectNoSecrets({ logged }: Logged): void {
  const log = logged.join('\n')
  for (const secret of [refreshToken, clientSecret, 'access-', 'Bearer']) expect(log).not.toContain(secret)
}

const shared = share(async () => {
  const gmail = await startDouble()
  return { gmail, running: await startWatching(gmail) }
})

/** The shared gateway, and what it does from now on. */
async function begin() {
  const { gmail, running } = shared()
  const before = (await mailsOf(running)).map(({ id }) => id)
  const [lines, calls] = [running.logged.length, gmail.calls.length]
  return {
    gmail,
    running,
    get logged() {
      return running.logged.slice(lines)
    },
    get calls() {
      return gmail.calls.slice(calls)
    },
    untilMails: (ids: readonly string[]) => untilMails(running, [...before, ...ids]),
  }
}

describe('an outage of Google', () => {
  it.each<[string, Reply, string]>([
    [
      'an error',
      { status: 503, body: { error: { code: 503, message: 'Backend Error' } } },
      'Google answered 503: Backend Error',
    ],
    ['a lost connection', { isLost: true }, 'Gmail does not answer at'],
    [
      'the page of a captive portal',
      { body: '<html>Sign in to the hotel</html>' },
      "is not Google's API; check any proxy in between",
    ],
  ])('delays mails and loses none: %s', async (_what, reply, reason) => {
    const test = await begin()
    const { gmail, running } = test
    const ids = [gmail.addMail(), gmail.addMail(), gmail.addMail()]
    gmail.failNext(`/messages/${ids[1]}`, reply)
    await push(running, gmail)
    await test.untilMails(ids)
    expect(count(test, 'was interrupted')).toBe(1)
    expect(count(test, reason)).toBe(1)
    expectNoSecrets(test)
  })

  it('ends by itself when nothing listened at the start, and the state said so', async () => {
    const gmail = await startDouble()
    await gmail.stopListening()
    const running = await start(gmail)
    await untilState(running, 'failing')
    expect((await jobOf(running)).reason).toBe(
      `Google's sign-in does not answer at ${gmail.urls.token}: nothing listens there. ` +
        'Check hooks.gmail.watch.urls.token.',
    )
    await gmail.listen()
    await untilState(running, 'connected')
    expect(count(running, 'could not start')).toBe(1)
    expectNoSecrets(running)
  })

  it.each([
    ['429', { status: 429, headers: { 'retry-after': '1' } }],
    [
      '403 for the rate',
      {
        status: 403,
        headers: { 'retry-after': '1' },
        body: { error: { code: 403, message: 'Rate Limit Exceeded', errors: [{ reason: 'rateLimitExceeded' }] } },
      },
    ],
  ])('waits as long as Google asks for with %s', async (_what, reply) => {
    const test = await begin()
    const { gmail, running } = test
    const ids = [gmail.addMail(), gmail.addMail()]
    gmail.failNext(`/messages/${ids[0]}`, reply)
    await push(running, gmail)
    await test.untilMails(ids)
    expect(test.calls.filter((call) => call.endsWith(`/${ids[0]}`))).toHaveLength(2)
    expect(test.logged.filter((line) => line.includes('allows no more calls'))).toEqual([
      expect.stringContaining('"seconds":1,'),
    ])
    expect(count(test, 'was interrupted')).toBe(0)
  })

  it('shows a long wait in the state of the job', async () => {
    const gmail = await startDouble()
    const running = await startWatching(gmail)
    gmail.failNext('/history', { status: 429, headers: { 'retry-after': '120' } })
    await push(running, gmail)
    await untilState(running, 'failing')
    expect((await jobOf(running)).reason).toBe('Google allows no more calls for 120 seconds.')
  })

  it('is none when Google ends an access token early', async () => {
    const test = await begin()
    const { gmail, running } = test
    gmail.tokens.endAll()
    const id = gmail.addMail()
    await push(running, gmail)
    await test.untilMails([id])
    expect(test.calls.filter((call) => call === 'POST /token')).toHaveLength(1)
    expect(count(test, 'was interrupted')).toBe(0)
  })
})

describe('a refused authorisation', () => {
  const unreadable = share(async () => {
    const gmail = await startDouble()
    return { gmail, running: await start(gmail, { credentials: '' }) }
  })

  it('is one log line and no further attempt when it was revoked, until the configuration is reloaded', async () => {
    const test = await begin()
    const { gmail, running } = test
    gmail.tokens.isRevoked = true
    gmail.tokens.endAll()
    const id = gmail.addMail()
    await push(running, gmail)
    await untilState(running, 'unauthorized')
    expect((await jobOf(running)).reason).toBe(
      `Google refuses the credentials of ${account} (invalid_grant); ` +
        'to authorise again, run "svc-gateway gmail setup".',
    )
    const calls = gmail.calls.length
    expect((await push(running, gmail)).status).toBe(200)
    expect(gmail.calls).toHaveLength(calls)
    expect(count(test, 'refuses the credentials of the preset')).toBe(1)
    expectNoSecrets(test)
    gmail.tokens.isRevoked = false
    await running.gateway.reload()
    await test.untilMails([id])
  })

  it('names what to run when the granted access is too small', async () => {
    const gmail = await startDouble()
    gmail.tokens.granted = ['https://www.googleapis.com/auth/pubsub']
    const running = await start(gmail)
    await untilState(running, 'unauthorized')
    expect((await jobOf(running)).reason).toBe(
      'The access that Google has granted does not cover Gmail; ' +
        'run "svc-gateway gmail setup" with --client, and agree to everything.',
    )
  })

  it('names the command when Gmail may not publish to the topic, and tries again', async () => {
    const gmail = await startDouble()
    gmail.pubsub.mayPublish = false
    const running = await start(gmail)
    await untilState(running, 'failing')
    expect((await jobOf(running)).reason).toContain(
      `If Gmail may not publish to the topic, run: gcloud pubsub topics add-iam-policy-binding ${topic} --member=`,
    )
    gmail.pubsub.mayPublish = true
    await untilState(running, 'connected')
    expect(await mailsOf(running)).toEqual([])
  })

  it('names a subscription that does not exist, in one log line, and tries again', async () => {
    const gmail = await startDouble()
    gmail.pubsub.hasSubscription = false
    const running = await start(gmail, { watch: { topic, subscription } })
    await until(() => expect(gmail.calls.filter((call) => call.endsWith(':pull'))).toHaveLength(2))
    const { state, reason } = await jobOf(running)
    expect([state, reason]).toEqual(['failing', `Google answered 404: Resource not found (resource=${subscription}).`])
    expect(count(running, 'Resource not found')).toBe(1)
    gmail.pubsub.hasSubscription = true
    await untilState(running, 'connected')
  })

  it.each([
    ['is no JSON', '{', 'has no valid \\"type\\"'],
    [
      'lacks the refresh token',
      JSON.stringify({ type: 'authorized_user', client_id: 'c', client_secret: 's' }),
      'refresh_token',
    ],
    [
      'has a broken key',
      JSON.stringify({ type: 'service_account', client_email: 'r@p', private_key: 'x' }),
      'private_key',
    ],
  ])('is reported with the field when the file with the credentials %s', async (_what, credentials, text) => {
    const { gmail, running } = unreadable()
    writeFileSync(join(running.dir, 'gmail.json'), credentials)
    const { length } = running.logged
    await running.gateway.reload()
    await until(() => expect(running.logged.slice(length).join('\n')).toContain(text))
    await untilState(running, 'unauthorized')
    expect(gmail.calls).toEqual([])
  })
})
