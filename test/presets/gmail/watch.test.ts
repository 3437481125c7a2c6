// The watch of a Gmail mailbox against a double of Google: which mails it accepts, in which form, and with which
// settings.
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { presetContract } from '../../contracts.ts'
import { account, startGmail, subscription, topic } from '../../doubles/gmail/gmail.ts'
import { messagesOf, startModel } from '../../doubles/model.ts'
import { temporaryFolder } from '../../helpers.ts'
import { share } from '../../share.ts'
import { loadPresets } from '../deliver.ts'
import {
  jobOf,
  mailsOf,
  person,
  push,
  start,
  startDouble,
  startWatching,
  until,
  untilMails,
  untilState,
} from './watching.ts'

describe('the watch', () => {
  it('polls, and accepts each mail that comes after the first start, in the form of the interface', async () => {
    const gmail = await startDouble()
    gmail.addMail()
    const running = await startWatching(gmail, { watch: { pollSeconds: 1 } })
    const id = gmail.addMail({ html: '<p>Hello &amp; <b>goodbye</b></p><script>x</script>', subject: 'Grüße' })
    await untilMails(running, [id])
    const { items } = (await running.get('/api/requests')).body
    expect(JSON.parse((await running.get(`/api/requests/${items[0].id}`)).body.body)).toEqual({
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
    const running = await startWatching(gmail, { watch: { topic, labels: ['INBOX', 'bills'] } })
    for (const label of ['SENT', 'DRAFT', 'SPAM', 'TRASH']) gmail.addMail({ labels: ['INBOX', label] })
    gmail.addMail({ labels: ['UNREAD'] })
    const ids = [gmail.addMail({ labels: ['Label_7'] }), gmail.addMail()]
    await push(running, gmail)
    await untilMails(running, ids)
  })

  it('cuts long texts at a whole character, and reads no text without includeBody', async () => {
    const gmail = await startDouble()
    const [short, none] = await Promise.all([
      startWatching(gmail, { watch: { topic, maxBytes: 5 } }),
      startWatching(gmail, { watch: { topic, includeBody: false } }),
    ])
    const id = gmail.addMail({ text: 'abc€€' })
    await Promise.all([push(short, gmail), push(none, gmail)])
    await Promise.all([untilMails(short, [id]), untilMails(none, [id])])
    expect(await mailsOf(short)).toMatchObject([{ body: 'abc' }])
    expect(await mailsOf(none)).toMatchObject([{ body: '', snippet: "Are you 'hungry'?" }])
  })

  it('says what is wrong when a label does not exist, and waits', async () => {
    const gmail = await startDouble()
    const running = await start(gmail, { watch: { labels: ['Invoices'] } })
    await untilState(running, 'unauthorized')
    expect((await jobOf(running)).reason).toBe('The mailbox has no label "Invoices"; correct hooks.gmail.watch.labels.')
  })

  it('works with a service account', async () => {
    const gmail = await startDouble()
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const running = await startWatching(gmail, {
      watch: { topic, subscription, pollSeconds: 86_400 },
      credentials: {
        type: 'service_account',
        client_email: 'robot@p.iam.gserviceaccount.com',
        private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      },
    })
    const id = gmail.addMail()
    gmail.pubsub.publish()
    await untilMails(running, [id])
    expect(gmail.tokens.assertions).toEqual([
      expect.objectContaining({ iss: 'robot@p.iam.gserviceaccount.com', sub: account }),
      expect.not.objectContaining({ sub: account }),
    ])
  })

  it('asks Gmail for notifications at the start, and again before they end', async () => {
    const gmail = await startDouble()
    gmail.watchMs = 2000
    await startWatching(gmail)
    await until(() => expect(gmail.calls.filter((call) => call.endsWith('/watch'))).toHaveLength(2))
  })
})

describe('the settings of hooks.gmail', () => {
  const read = async (hook: object) => {
    const model = await startModel()
    model.otherwise({ text: 'Noted.' })
    const gmail = await startDouble()
    const sections = { providers: model.providers }
    const running = await startWatching(gmail, { hook: { model: 'double/m', ...hook }, sections })
    gmail.addMail({ text: 'The invoice is attached.' })
    await push(running, gmail)
    const request = await model.request(0)
    return { prompt: messagesOf(request).at(-1)!.content, body: request.body }
  }

  it('choose the model and its thinking level; the mail is wrapped as external content', async () => {
    const { prompt, body } = await read({ thinking: 'high' })
    expect(body).toMatchObject({ model: 'm', reasoning_effort: 'high' })
    expect(prompt).toContain('The invoice is attached.')
    expect(prompt).toContain('<<<OUTSIDE TEXT')
  })

  it('leave the wrapper out with allowUnsafeExternalContent', async () => {
    const { prompt } = await read({ allowUnsafeExternalContent: true })
    expect(prompt).toContain('The invoice is attached.')
    expect(prompt).not.toContain('<<<OUTSIDE TEXT')
  })
})

describe('the job of the preset', async () => {
  const { preset } = (await loadPresets()).get('gmail')!

  it('names the versions of the libraries that the tests use', () => {
    const { devDependencies, peerDependencies } = manifest
    const packages = preset.packages?.({})
    expect(packages).toEqual({ '@googleapis/gmail': expect.any(String), 'google-auth-library': expect.any(String) })
    expect(devDependencies).toMatchObject({ ...packages })
    expect(peerDependencies).toMatchObject({ ...packages })
  })

  const shared = share(async () => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'gmail.json'), JSON.stringify(person))
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
