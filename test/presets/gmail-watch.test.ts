// The watch of a Gmail mailbox, against a double of Google: each mail becomes one request, whatever happens.
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  account,
  type GmailDouble,
  pushEmail,
  refreshToken,
  startGmail,
  subscription,
  topic,
} from '../doubles/gmail/gmail.ts'
import { presetContract } from '../contracts.ts'
import { type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { loadPresets } from './deliver.ts'

const audience = 'https://gateway.example.com/hooks/gmail'
const user: object = {
  type: 'authorized_user',
  client_id: 'c',
  client_secret: 'client-secret',
  refresh_token: refreshToken,
}

async function startDouble(): Promise<GmailDouble> {
  const gmail = await startGmail()
  onTestFinished(gmail.close)
  return gmail
}

/** Starts a gateway that watches the mailbox, and waits until the watch runs. */
async function start(gmail: GmailDouble, settings: object = {}, dir = temporaryFolder()): Promise<RunningGateway> {
  const running = await startUnwatched(gmail, settings, { dir })
  await untilState(running, 'connected')
  return running
}

function startUnwatched(gmail: GmailDouble, settings: object, { dir = temporaryFolder(), credentials = user } = {}) {
  writeFileSync(join(dir, 'gmail.json'), JSON.stringify(credentials), { mode: 0o600 })
  const watch = { account, credentials: 'gmail.json', urls: gmail.urls, ...settings }
  const auth = { scheme: 'google-oidc', audience, email: pushEmail, keysUrl: gmail.keysUrl }
  const hooks = { presets: ['gmail'], gmail: { auth, wakeMode: 'next-heartbeat', deliver: false, watch } }
  return startGateway({ hooks, agents: { defaults: { heartbeat: { every: 0 } } } }, dir)
}

const wait = { timeout: 15_000, interval: 20 }
const jobOf = async ({ get }: RunningGateway) => (await get('/api/extensions')).body.jobs[0]
const untilState = (running: RunningGateway, state: string) =>
  vi.waitFor(async () => expect(await jobOf(running)).toMatchObject({ preset: 'gmail', state }), wait)

/** The ids of the accepted mails, oldest first. */
async function mailsOf({ get }: RunningGateway): Promise<string[]> {
  const { items } = (await get('/api/requests?status=accepted&limit=200')).body
  const bodies = items.map(async ({ id }: { id: string }) => JSON.parse((await get(`/api/requests/${id}`)).body.body))
  const payloads = (await Promise.all(bodies)) as { messages: { id: string }[] }[]
  return payloads.flatMap(({ messages }) => messages.map(({ id }) => id)).toReversed()
}
const untilMails = (running: RunningGateway, ids: readonly string[]) =>
  vi.waitFor(async () => expect(await mailsOf(running)).toEqual(ids), wait)
const push = (running: RunningGateway, [body, headers]: ReturnType<GmailDouble['push']>) =>
  running.post('/hooks/gmail', body, headers)
const often = { pollSeconds: 1 }

describe('the watch', () => {
  it('accepts each mail that comes after the first start, in the form of the interface', async () => {
    const gmail = await startDouble()
    gmail.addMail()
    const running = await start(gmail, often)
    const id = gmail.addMail({ html: '<p>Hello &amp; <b>goodbye</b></p><script>x</script>', subject: 'Grüße' })
    await untilMails(running, [id])
    const { items } = (await running.get('/api/requests')).body
    const { body } = (await running.get(`/api/requests/${items[0].id}`)).body
    expect(JSON.parse(body)).toEqual({
      source: 'gmail',
      account,
      messages: [
        {
          id,
          threadId: `t${id}`,
          from: 'Bob <bob@example.com>',
          to: account,
          subject: 'Grüße',
          date: '',
          snippet: "Are you 'hungry'?",
          body: 'Hello & goodbye',
          labels: ['INBOX', 'UNREAD'],
        },
      ],
    })
    const { body: runs } = await running.get('/api/runs')
    expect(runs.items).toMatchObject([{ sessionKey: expect.stringContaining(`hook:gmail:t${id}`) }])
    expect(gmail.calls).not.toContain('POST /gmail/v1/users/me/watch')
  })

  it('leaves out sent mail, drafts, spam and trash, and mails without a wanted label', async () => {
    const gmail = await startDouble()
    const running = await start(gmail, { ...often, labels: ['INBOX', 'bills'] })
    for (const label of ['SENT', 'DRAFT', 'SPAM', 'TRASH']) gmail.addMail({ labels: ['INBOX', label] })
    gmail.addMail({ labels: ['UNREAD'] })
    const ids = [gmail.addMail({ labels: ['Label_7'] }), gmail.addMail()]
    await untilMails(running, ids)
  })

  it('cuts long texts at a whole character', async () => {
    const gmail = await startDouble()
    const running = await start(gmail, { ...often, maxBytes: 5 })
    await untilMails(running, [gmail.addMail({ text: 'abc€€' })])
    const { items } = (await running.get('/api/requests')).body
    expect(JSON.parse((await running.get(`/api/requests/${items[0].id}`)).body.body).messages[0].body).toBe('abc')
  })

  it('says what is wrong when a label does not exist, and waits', async () => {
    const gmail = await startDouble()
    const running = await startUnwatched(gmail, { labels: ['Invoices'] })
    await untilState(running, 'unauthorized')
    expect((await jobOf(running)).reason).toBe('The mailbox has no label "Invoices"; correct hooks.gmail.watch.labels.')
  })

  it('works with a service account', async () => {
    const gmail = await startDouble()
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const running = await startUnwatched(gmail, often, {
      credentials: {
        type: 'service_account',
        client_email: 'robot@p.iam.gserviceaccount.com',
        private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      },
    })
    await untilState(running, 'connected')
    await untilMails(running, [gmail.addMail()])
  })
})

describe('a push', () => {
  it('makes the watch read the mailbox: three mails become three requests', async () => {
    const gmail = await startDouble()
    const running = await start(gmail, { topic, pollSeconds: 3600 })
    expect(gmail.calls).toContain('POST /gmail/v1/users/me/watch')
    const ids = [gmail.addMail(), gmail.addMail(), gmail.addMail()]
    expect(await push(running, gmail.push(audience))).toMatchObject({ status: 200, body: { skipped: true } })
    await untilMails(running, ids)
    const next = gmail.addMail()
    await Promise.all([push(running, gmail.push(audience)), push(running, gmail.push(audience))])
    await untilMails(running, [...ids, next])
  })

  it('is refused with 401 if its token is forged', async () => {
    const gmail = await startDouble()
    const running = await start(gmail, { topic, pollSeconds: 3600 })
    gmail.addMail()
    const forged = [
      gmail.push(audience, { hasWrongKey: true }),
      gmail.push('https://elsewhere.example.com/hooks/gmail'),
      gmail.push(audience, { claims: { iss: 'https://accounts.example.com' } }),
      gmail.push(audience, { claims: { email: 'mallory@p.iam.gserviceaccount.com' } }),
      gmail.push(audience, { claims: { exp: Math.floor(Date.now() / 1000) - 3600 } }),
    ]
    for (const one of forged) expect((await push(running, one)).status).toBe(401)
    expect(await mailsOf(running)).toEqual([])
  })
})

describe('a pull', () => {
  it('reads the mailbox and acknowledges the notification afterwards', async () => {
    const gmail = await startDouble()
    const running = await start(gmail, { topic, subscription, pollSeconds: 3600 })
    gmail.failNext('/messages/', { status: 500 })
    const id = gmail.addMail()
    gmail.pubsub.publish()
    await untilMails(running, [id])
    await vi.waitFor(() => expect(gmail.pubsub.unacknowledged).toBe(0), wait)
    expect(gmail.calls.findIndex((call) => call.endsWith(':acknowledge'))).toBeGreaterThan(
      gmail.calls.lastIndexOf(`GET /gmail/v1/users/me/messages/${id}`),
    )
    expect(running.logged.filter((line) => line.includes('was interrupted'))).toHaveLength(1)
  })
})

describe('each mail is accepted exactly once', () => {
  it('when Gmail has no history any more', async () => {
    const gmail = await startDouble()
    const dir = temporaryFolder()
    const first = await start(gmail, often, dir)
    const ids = [gmail.addMail(), gmail.addMail()]
    await untilMails(first, ids)
    await first.gateway.close()
    ids.push(gmail.addMail(), gmail.addMail())
    gmail.expireHistory()
    const second = await start(gmail, often, dir)
    await untilMails(second, ids)
    expect(second.logged.filter((line) => line.includes('has no history'))).toHaveLength(1)
    ids.push(gmail.addMail())
    await untilMails(second, ids)
  })

  it('when the gateway restarts in the middle of several mails', async () => {
    const gmail = await startDouble()
    const dir = temporaryFolder()
    const first = await start(gmail, often, dir)
    gmail.failNext('/messages/m1003', { status: 503 }, 100)
    const ids = Array.from({ length: 5 }, () => gmail.addMail())
    await untilMails(first, ids.slice(0, 2))
    await first.gateway.close()
    gmail.recover()
    const second = await start(gmail, often, dir)
    await untilMails(second, ids)
    expect((await second.get('/api/requests')).body.items).toHaveLength(ids.length)
  })

  it('when Google answers with errors and asks to wait', async () => {
    const gmail = await startDouble()
    const running = await start(gmail, often)
    gmail.failNext('/history', { status: 500, body: { error: { message: 'Backend Error' } } }, 2)
    gmail.failNext('/messages/', { status: 429, headers: { 'retry-after': '1' } })
    const ids = [gmail.addMail(), gmail.addMail(), gmail.addMail()]
    await untilMails(running, ids)
    expect(running.logged.filter((line) => line.includes('allows no more calls'))).toHaveLength(1)
  })
})

describe('a revoked authorisation', () => {
  it('is one log line and no further attempt, until the configuration is reloaded', async () => {
    const gmail = await startDouble()
    gmail.tokens.isRevoked = true
    const running = await startUnwatched(gmail, often)
    await untilState(running, 'unauthorized')
    expect((await jobOf(running)).reason).toBe(
      `Google refuses the credentials of ${account} (invalid_grant); ` +
        'to authorise again, run "svc-gateway gmail setup".',
    )
    expect(gmail.calls).toEqual(['POST /token'])
    const refusals = running.logged.filter((line) => line.includes('refuses the credentials of the preset'))
    expect(refusals).toHaveLength(1)
    expect(running.logged.join()).not.toContain(refreshToken)
    gmail.tokens.isRevoked = false
    await running.gateway.reload()
    await untilState(running, 'connected')
  })
})

describe('the renewal', () => {
  it('asks Gmail for notifications again before they end', async () => {
    const gmail = await startDouble()
    gmail.watchMs = 2000
    await start(gmail, { topic, pollSeconds: 3600 })
    const watches = () => gmail.calls.filter((call) => call.endsWith('/watch'))
    await vi.waitFor(() => expect(watches()).toHaveLength(2), wait)
  })
})

describe('the job of the preset', async () => {
  const { preset } = (await loadPresets()).get('gmail')!
  const shared = share(async () => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'gmail.json'), JSON.stringify(user))
    return { gmail: await startGmail(), credentials: join(dir, 'gmail.json') }
  })
  const config = () => ({
    watch: {
      account,
      credentials: shared().credentials,
      labels: ['INBOX'],
      urls: shared().gmail.urls,
      pollSeconds: 1,
      includeBody: true,
      maxBytes: 1000,
    },
  })
  presetContract(preset, { accepted: [], job: { config, emit: () => shared().gmail.addMail() } })
})
