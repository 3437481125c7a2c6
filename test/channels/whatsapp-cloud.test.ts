// WhatsApp through the Cloud API: the channel contract, signatures, files, and errors that say more than a status.
import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import whatsapp from '../../channels/whatsapp/index.ts'
import type { ChannelContext, Json, LoginQuestion } from '../../core/plugin/plugin.ts'
import { channelContract, type SaidFile } from '../contracts/channel.ts'
import { createTestContext } from '../contracts/context.ts'
import { readText } from '../read-text.ts'
import { cloudGroup, openWhatsappCloud, userId } from '../doubles/whatsapp-cloud.ts'
import { gatewayToken, startGateway } from '../helpers.ts'
import { connectChannel, openDouble } from './connect-channel.ts'

const to = '+15551112222'

channelContract(
  whatsapp,
  async () => {
    const cloud = await openWhatsappCloud()
    let lastInGroup = ''
    let number: null | undefined
    return {
      config: cloud.config,
      badConfig: { ...cloud.config, accessToken: 'another-access-token' },
      to,
      messages: async () => cloud.messages,
      say: (text: string) => cloud.say(text, undefined, number === undefined ? {} : { number }),
      sayInGroup: (text: string, { mentioned }: { mentioned: boolean }) => {
        // A reply to a message of the account.
        const context: Record<string, Json> = mentioned
          ? { context: { from: cloud.displayNumber, id: 'wamid.own' } }
          : {}
        lastInGroup = `wamid.group.${randomUUID()}`
        return cloud.say({ type: 'text', text: { body: text }, ...context }, lastInGroup, { group: cloudGroup })
      },
      rename: async (name) => cloud.rename(name),
      sayWithFile: (text: string, { name, type, content }: SaidFile, place) => {
        const id = cloud.putFile({ name, type, data: content })
        return cloud.say(
          {
            type: 'document',
            document: { id, mime_type: type, filename: name, ...(text && { caption: text }) },
          },
          undefined,
          place ? { group: cloudGroup } : {},
        )
      },
      answer: (text: string, original: 'own' | 'other') => {
        if (original === 'own') {
          const context = cloud.contextOf({ messageIndex: cloud.messages.length - 1 })
          return cloud.say({ type: 'text', text: { body: text }, context })
        }
        const body = `@${cloud.displayNumber} ${text}`
        const context = { from: to.slice(1), id: lastInGroup }
        return cloud.say({ type: 'text', text: { body }, context }, undefined, { group: cloudGroup })
      },
      hideId: async () => void (number = null),
      forward: (text: string) => cloud.say({ type: 'text', text: { body: text }, context: cloud.contextOf('forward') }),
      redirectNextDownload: cloud.redirectNextDownload,
      loseNextAnswer: () => cloud.fail('lose-answer'),
      answerNext: (status: number) => cloud.fail(status === 500 ? { statusAfter: status } : { status }),
      limitNext: (ms: number) => cloud.fail({ status: 429, code: 130_429, retryAfter: ms / 1000 }),
      webhook: cloud.connect,
      signature: {
        coversBody: true,
        sign: (body, { forged }) => ({
          'x-hub-signature-256': cloud.sign(body, forged ? 'another secret' : undefined),
        }),
      },
      close: cloud.close,
    }
  },
  { without: ['disconnect', 'edit', 'sayInThread', 'sayWithFiles'] },
)

const { signal } = new AbortController()

async function connect(receive?: ChannelContext['receive']) {
  const cloud = await openDouble(openWhatsappCloud())
  const undelivered: string[][] = []
  const { connection, messages, context } = await connectChannel(whatsapp, cloud.config, {
    undelivered: async (...report: string[]) => void undelivered.push(report),
    ...(receive && { receive }),
  })
  const handle = connection.handle!
  cloud.connect(handle)
  return { cloud, connection, handle, inbox: messages, logged: context.logged, undelivered }
}

describe('the webhook of the Cloud API', () => {
  it('answers the handshake only with the right verify token', async () => {
    const { handle, cloud } = await connect()
    const get = (query: Record<string, string>) =>
      handle({ method: 'GET', headers: {}, query, body: new Uint8Array(), signal })
    const query = { 'hub.mode': 'subscribe', 'hub.challenge': '12345' }
    const right = { ...query, 'hub.verify_token': cloud.config.verifyToken }
    expect(await get(right)).toEqual({ status: 200, body: '12345' })
    expect(await get({ ...right, 'hub.mode': 'other' })).toEqual({ status: 403 })
    expect(await get({ ...query, 'hub.verify_token': 'wrong' })).toEqual({ status: 403 })
    expect(await get({})).toEqual({ status: 403 })
  })

  it.each([
    ['absent', () => undefined],
    ['wrong', (_sign: unknown) => 'sha256=00'],
    ['made with another secret', (sign: Sign) => sign(body, 'another secret')],
    ['of another body', (sign: Sign) => sign(Buffer.from('{}'))],
    ['of another scheme', (sign: Sign) => sign(body).replace('sha256=', 'sha1=')],
  ])('refuses a request whose signature is %s', async (_case, signature) => {
    const { cloud, handle, inbox } = await connect()
    const headers = { 'x-hub-signature-256': signature(cloud.sign) }
    const request = { method: 'POST', query: {}, body, signal } as const
    expect(await handle({ ...request, headers })).toEqual({ status: 401 })
    expect(await handle({ ...request, headers: { 'x-hub-signature-256': cloud.sign(body) } })).toEqual({ status: 200 })
    expect(inbox).toEqual([])
  })

  it('says which message another one answers, and what its sender passes on', async () => {
    const { cloud, inbox } = await connect()
    const contexts = [
      cloud.contextOf({ messageIndex: 0 }),
      { from: '15553334444', id: 'wamid.other' },
      cloud.contextOf('frequent forward'),
      { forwarded: false },
      'nothing',
    ]
    for (const context of contexts) await cloud.say({ type: 'text', text: { body: 'why?' }, context })
    expect(inbox.map(({ quoted, forwardedFrom }) => [quoted, forwardedFrom])).toEqual([
      [{ id: 'wamid.sent.1', from: { id: `+${cloud.displayNumber}` }, isOwn: true }, undefined],
      [{ id: 'wamid.other', from: { id: '+15553334444' } }, undefined],
      [undefined, {}],
      [undefined, undefined],
      [undefined, undefined],
    ])
  })

  it('knows the text of a recent message that somebody answers, and not as theirs if they passed it on', async () => {
    const { cloud, inbox } = await connect()
    const text = (body: string, context: Json) => ({ type: 'text', text: { body }, context })
    await cloud.say('the plan is ready', 'wamid.plan')
    await cloud.say(text('send me your keys', cloud.contextOf('forward')), 'wamid.forward')
    for (const id of ['wamid.plan', 'wamid.forward']) await cloud.say(text('why?', { from: '15551112222', id }))
    expect(inbox.slice(2).map(({ quoted }) => quoted)).toEqual([
      { id: 'wamid.plan', from: { id: to, name: 'Alice' }, text: 'the plan is ready' },
      { id: 'wamid.forward', text: 'send me your keys' },
    ])
  })

  it('reads texts, captions and buttons, with the name of the sender', async () => {
    const { cloud, inbox } = await connect()
    await cloud.say('hello', 'wamid.1')
    await cloud.say({ type: 'button', button: { text: 'Yes' } })
    await cloud.say({ type: 'interactive', interactive: { type: 'list_reply', list_reply: { id: 'a', title: 'Red' } } })
    expect(inbox[0]).toEqual({
      id: 'wamid.1',
      from: { id: to, otherIds: [userId], name: 'Alice' },
      to,
      text: 'hello',
      route: { messageId: 'wamid.1' },
    })
    expect(inbox.map(({ text }) => text)).toEqual(['hello', 'Yes', 'Red'])
  })

  it('rejects when a message is not stored in time, so that Meta sends it again', async () => {
    const late = new Error('Meta waits no longer')
    const { cloud, handle } = await connect(async (_message, options) => {
      options?.signal?.throwIfAborted()
      return 'accepted'
    })
    const message = { id: 'wamid.1', from: '15551112222', type: 'text', text: { body: 'hello' } }
    const request = cloud.requestOf(cloud.payloadOf({ messages: [message] }))
    await expect(handle({ ...request, signal: AbortSignal.abort(late) })).rejects.toBe(late)
  })

  it.each<[string, Json]>([
    ['no JSON', '{'],
    ['a list', []],
    ['no entries', { entry: 'x' }],
    ['no changes', { entry: [{ changes: null }, null, 5] }],
    ['a change of another kind', { entry: [{ changes: [{ field: 'account_alerts', value: {} }] }] }],
    ['no value', { entry: [{ changes: [{ field: 'messages' }] }] }],
  ])('accepts and ignores a body that is %s', async (_case, payload) => {
    const { cloud, handle, inbox } = await connect()
    expect(await handle(cloud.requestOf(payload))).toEqual({ status: 200 })
    expect(inbox).toEqual([])
  })

  it('ignores reactions, messages of unknown shape, and those of another number, and logs what they were', async () => {
    const { cloud, inbox, logged } = await connect()
    await cloud.say({ type: 'reaction', reaction: { emoji: '👍' } })
    await cloud.say({ type: 'system', system: { type: 'user_changed_number', wa_id: '12195555358' } })
    await cloud.say({ type: 'unsupported', unsupported: { type: 'edit' }, errors: [{ code: 131_051 }] })
    await cloud.say({ type: 'text', text: 'no object' })
    await cloud.push(cloud.payloadOf({ messages: [null, 5, { id: 1 }, { id: 'x', from: 'nobody', type: 'text' }] }))
    const message = { id: 'wamid.1', from: '15551112222', type: 'text', text: { body: 'hello' } }
    await cloud.push(cloud.payloadOf({ messages: [message] }, '999'))
    expect(inbox).toEqual([])
    const ignored = logged.filter(({ message }) => message === 'a message was ignored')
    expect(ignored.map(({ fields }) => fields)).toEqual([
      { type: 'reaction', reason: 'it is no message to the agent' },
      { type: 'system', reason: 'it is no message to the agent' },
      { type: 'unsupported', reason: 'it is no message to the agent' },
      { type: 'text', reason: 'it is empty' },
      ...['', '', ''].map((type) => ({ type, reason: 'it has no id or no type' })),
      { type: 'text', reason: 'its sender has neither a number nor a business-scoped id' },
    ])
  })

  it('logs the codes of errors that Meta reports, and not their texts', async () => {
    const { cloud, logged } = await connect()
    // Meta: "Errors webhook reference".
    await cloud.push(cloud.payloadOf({ errors: [{ code: 130_429, title: 'Rate limit hit', message: 'of +1555' }] }))
    const fields = { code: 130_429 }
    expect(logged).toEqual([{ level: 'warn', fields, message: 'Meta reports an error of the WhatsApp account' }])
  })

  it('tells the agent of messages that are neither text nor file', async () => {
    const { cloud, inbox } = await connect()
    await cloud.say({
      type: 'location',
      location: { latitude: 48.1, longitude: 11.5, name: 'Office', address: 'Main 1' },
    })
    await cloud.say({ type: 'location', location: { latitude: 48.1, longitude: 11.5 } })
    const phones = [{ phone: '+1 555 222 3333', type: 'HOME' }]
    await cloud.say({ type: 'contacts', contacts: [{ name: { formatted_name: 'Bob\nBoss' }, phones }] })
    await cloud.say({ type: 'unsupported', unsupported: { type: 'poll_creation' }, errors: [{ code: 131_051 }] })
    await cloud.say({ type: 'order', order: { catalog_id: '1', product_items: [] } })
    await cloud.say({ type: 'interactive', interactive: { type: 'nfm_reply', nfm_reply: { response_json: '{}' } } })
    await cloud.say({ type: 'constructor' })
    const unread = (type: string) => `[A message of the type "${type}" came, which the gateway cannot read.]`
    expect(inbox.map(({ text }) => text)).toEqual([
      'Location: Office, Main 1 (48.1, 11.5)',
      'Location: (48.1, 11.5)',
      'Contact: Bob Boss, +1 555 222 3333',
      ...['poll_creation', 'order', 'interactive nfm_reply', 'constructor'].map(unread),
    ])
  })

  it('reads senders with a number, without one, and those that only the contacts name', async () => {
    const { cloud, inbox } = await connect()
    await cloud.say('with a number')
    await cloud.say('without a number', undefined, { number: null })
    const text = { type: 'text', text: { body: 'hello' } }
    await cloud.push(cloud.payloadOf({ messages: [{ id: 'a', from: userId, ...text }] }))
    const contact = { wa_id: '15551112222', user_id: userId, profile: { name: 'Alice' } }
    await cloud.push(cloud.payloadOf({ contacts: [contact], messages: [{ id: 'b', ...text }] }))
    // The contact is somebody else.
    await cloud.push(cloud.payloadOf({ contacts: [contact], messages: [{ id: 'c', from: '15553334444', ...text }] }))
    expect(inbox.map(({ from, to }) => ({ from, to }))).toEqual([
      { from: { id: to, otherIds: [userId], name: 'Alice' }, to },
      { from: { id: userId, name: 'Alice' }, to: userId },
      { from: { id: userId }, to: userId },
      { from: { id: to, otherIds: [userId], name: 'Alice' }, to },
      { from: { id: '+15553334444' }, to: '+15553334444' },
    ])
  })

  it('answers a message of a group in the group, and none whose group it does not know', async () => {
    const { cloud, connection, inbox, logged } = await connect()
    const text = `@${cloud.displayNumber} hello`
    await cloud.say({ type: 'text', text: { body: text } }, undefined, { group: cloudGroup, number: null })
    await cloud.say('hello', undefined, { group: 'another kind' })
    expect(inbox).toMatchObject([
      { from: { id: userId }, to: cloudGroup, group: 'group', mentioned: true, text: 'hello' },
    ])
    expect(logged.map(({ fields }) => fields)).toContainEqual({ type: 'text', reason: 'its group has no known id' })
    const file = { name: 'a.txt', type: 'text/plain', data: Buffer.from('a') }
    expect(await connection.send({ key: 'k', to: cloudGroup, text: 'hi', file })).toMatchObject({ outcome: 'sent' })
    expect(cloud.messages).toMatchObject([{ to: cloudGroup, text: 'hi' }])
  })

  it.each([
    ['a known reason', [{ code: 131_047 }], /24 hours.*\(131047\)$/],
    ['another code', [{ code: 999_999 }], /^WhatsApp could not deliver the message\. \(999999\)$/],
    ['no reason', null, /^WhatsApp could not deliver the message\.$/],
  ])('reports an accepted message that was not delivered, with %s', async (_case, errors, detail) => {
    const { cloud, connection, undelivered } = await connect()
    await connection.send({ key: 'run:0:0', to, text: 'hello' })
    await cloud.reportStatus(0, { status: 'delivered' })
    expect(undelivered).toEqual([])
    await cloud.reportStatus(0, { status: 'failed', errors })
    expect(undelivered).toEqual([['run:0:0', expect.stringMatching(detail)]])
  })

  it('ignores the status of a message that the gateway has not sent', async () => {
    const { cloud, undelivered } = await connect()
    await cloud.push(cloud.payloadOf({ statuses: [{ id: 'wamid.1', status: 'failed', errors: [{ code: 131_047 }] }] }))
    expect(undelivered).toEqual([])
  })
})

it.each([
  ['15551112222', undefined],
  ['+1 555 111-2222', undefined],
  ['15551112222@s.whatsapp.net', undefined],
  [userId, undefined],
  [userId, null],
])('a sender whom allowFrom lists as %s is answered, with the number %s', async (sender, number) => {
  const cloud = await openWhatsappCloud()
  onTestFinished(() => cloud.close())
  const running = await startGateway({
    agents: { defaults: { heartbeat: { every: 0 } } },
    channels: { whatsapp: { ...cloud.config, allowFrom: [sender] } },
  })
  cloud.connect(async ({ method, headers, body }) => {
    const init = { method, headers: headers as Record<string, string>, body: new Uint8Array(body) }
    return { status: (await fetch(`${running.url}/channels/whatsapp`, init)).status }
  })
  await cloud.say('hello', undefined, number === null ? { number } : {})
  await cloud.until(() => cloud.messages.length > 0)
  expect(cloud.messages).toMatchObject([{ to: number === null ? userId : to }])
})

describe('a message that WhatsApp accepts and then cannot deliver', () => {
  async function start() {
    const cloud = await openWhatsappCloud()
    onTestFinished(() => cloud.close())
    const running = await startGateway({
      agents: { defaults: { heartbeat: { every: 0 } } },
      channels: { whatsapp: { ...cloud.config, defaultTo: to } },
    })
    cloud.connect(async ({ method, headers, body }) => {
      const init = { method, headers: headers as Record<string, string>, body: new Uint8Array(body) }
      return { status: (await fetch(`${running.url}/channels/whatsapp`, init)).status }
    })
    const send = async (wakeMode = 'next-heartbeat') => {
      const { runId } = (await running.post('/hooks/agent', { message: 'hi', channel: 'whatsapp', wakeMode })).body
      const delivery = async () => (await running.get(`/runs/${runId}`)).body.deliveries[0]
      await expect.poll(delivery).toMatchObject({ status: 'sent' })
      return { delivery }
    }
    const events = async () => {
      const { items } = (await running.get('/api/sessions')).body
      const { key } = items.find(({ key }: { key: string }) => key === 'agent:main:main')
      const session = (await running.get(`/api/sessions/${encodeURIComponent(key)}`)).body
      return session.events.filter(({ text }: { text: string }) => text.includes('was not delivered'))
    }
    return { cloud, send, events, ...running }
  }
  const failed = { status: 'failed', errors: [{ code: 131_047 }] }

  it('ends as failed with the reason, and the main session hears of it once', async () => {
    const { cloud, send, events, get, post } = await start()
    const { delivery } = await send()
    await Promise.all([cloud.reportStatus(0, failed), cloud.reportStatus(0, failed)])
    await cloud.reportStatus(0, failed)
    const reason = expect.stringContaining('has not written in the last 24 hours')
    expect(await delivery()).toMatchObject({ status: 'failed', reason })
    const { items } = (await get('/api/outbox?status=failed')).body
    expect(items).toEqual([expect.objectContaining({ channel: 'whatsapp', to, reason })])
    expect(await events()).toHaveLength(1)
    await post(`/api/outbox/${items[0].id}/retry`, {}, { authorization: `Bearer ${gatewayToken}` })
    await expect.poll(delivery).toMatchObject({ status: 'sent' })
    expect(cloud.messages).toHaveLength(2)
  })

  it('wakes the main session if the webhook asked for it', async () => {
    const { cloud, send, get } = await start()
    const heartbeats = async () => {
      const runs = (await get('/api/runs')).body.items as { kind: string; status: string }[]
      return runs.filter(({ kind, status }) => kind === 'heartbeat' && status === 'succeeded').length
    }
    await send('now')
    await expect.poll(heartbeats).toBe(1)
    await cloud.reportStatus(0, failed)
    await expect.poll(heartbeats).toBe(2)
  })

  it('changes nothing if its key is unknown', async () => {
    const { cloud, send, events } = await start()
    const { delivery } = await send()
    const statuses = ['nobody:0', 'nobody', '', 5].map((key) => ({ status: 'failed', biz_opaque_callback_data: key }))
    await cloud.push(cloud.payloadOf({ statuses }))
    expect(await delivery()).toMatchObject({ status: 'sent' })
    expect(await events()).toEqual([])
  })
})

type Sign = (body: Uint8Array, secret?: string) => string
const body = Buffer.from('{"entry":[]}')

describe('files of the Cloud API', () => {
  it('are described, and read with the access token', async () => {
    const read: string[] = []
    const { cloud } = await connect(async ({ text, attachments = [] }) => {
      expect([text, attachments]).toMatchObject(['The report', [{ name: 'r.txt', type: 'text/plain' }]])
      read.push(await readText(attachments[0]!))
      return 'accepted'
    })
    const id = cloud.putFile({ name: 'r.txt', type: 'text/plain', data: Buffer.from('All is well.') })
    const document = { id, mime_type: 'text/plain; charset=utf-8', filename: 'r.txt', caption: 'The report' }
    await cloud.say({ type: 'document', document })
    expect(read).toEqual(['All is well.'])
  })

  it.each([
    ['report.txt', 'text/plain', 'document'],
    ['photo.png', 'image/png', 'image'],
    ['report.pdf', 'application/pdf', 'document'],
    ['clip.mp4', 'video/mp4', 'video'],
  ])('are sent: %s', async (name, type, kind) => {
    const { cloud, connection } = await connect()
    const file = { name, type, data: Buffer.from('the bytes') }
    expect(await connection.send({ key: 'k', to, text: 'See this.', file })).toMatchObject({ outcome: 'sent' })
    expect(cloud.messages).toMatchObject([
      { to, type: kind, text: 'See this.', file: { name, type, text: 'the bytes' } },
    ])
  })

  it.each([
    ['table.csv', 'text/csv'],
    ['notes.md', 'text/markdown'],
    ['data.json', 'application/json'],
    ['log', 'application/octet-stream'],
    ['page.html', 'text/html; charset=utf-8'],
  ])('are sent as plain text if they are text: %s', async (name, type) => {
    const { cloud, connection } = await connect()
    const file = { name, type, data: Buffer.from('ä,b') }
    expect(await connection.send({ key: 'k', to, text: '', file })).toMatchObject({ outcome: 'sent' })
    expect(cloud.messages).toMatchObject([{ type: 'document', file: { name, type: 'text/plain', text: 'ä,b' } }])
  })

  it.each([
    [
      'backup.zip',
      'application/zip',
      Buffer.from('PK\u0003\u0004\u0000'),
      /no files of the type application\/zip; it accepts/,
    ],
    ['photo.webp', 'image/webp', Buffer.from([0x52, 0xff, 0]), /no files of the type image\/webp/],
    ['photo.png', 'image/png', Buffer.alloc(5 * 1024 * 1024 + 1), /at most 5 MB/],
  ])('are refused with the reason: %s', async (...[name, type, data, detail]) => {
    const { cloud, connection } = await connect()
    const result = await connection.send({ key: 'k', to, text: 'See this.', file: { name, type, data } })
    expect(result).toMatchObject({ outcome: 'failed', reason: 'permanent', detail: expect.stringMatching(detail) })
    expect(cloud.messages).toEqual([])
  })

  it('are sent after their text if they are audio, and the text is not sent again if the audio fails', async () => {
    const { cloud, connection } = await connect()
    const file = { name: 'song.mp3', type: 'audio/mpeg', data: Buffer.from('the bytes') }
    const message = { key: 'k', to, text: 'Hear this.', file }
    expect(await connection.send(message)).toMatchObject({ outcome: 'sent' })
    expect(cloud.messages).toMatchObject([
      { type: 'text', text: 'Hear this.' },
      { type: 'audio', text: '', file: { type: 'audio/mpeg', text: 'the bytes' } },
    ])
    cloud.fail('accept')
    cloud.fail({ status: 503 })
    const detail = 'The text was sent, but not the file. The platform answered 503.'
    expect(await connection.send(message)).toEqual({ outcome: 'failed', reason: 'permanent', detail })
  })
})

describe('sending through the Cloud API', () => {
  it.each([
    [400, 131_047, 'permanent', /24 hours/],
    [400, 131_026, 'permanent', /cannot receive/],
    [400, 131_056, 'rate', /Too many/],
    [400, 130_429, 'rate', /slow down/],
    [401, 190, 'auth', /token has expired/],
    [500, 131_016, 'transient', /unavailable/],
    [400, 999_999, 'permanent', /code 999999/],
  ])('status %i with code %i is a failure: %s', async (...[status, code, reason, detail]) => {
    const { cloud, connection } = await connect()
    cloud.fail({ status, code })
    const result = await connection.send({ key: 'k', to, text: 'hello' })
    expect(result).toMatchObject({ outcome: 'failed', reason, detail: expect.stringMatching(detail) })
    expect(JSON.stringify(result)).not.toContain(cloud.config.accessToken)
  })

  it('is unknown after a server error without a known code', async () => {
    const { cloud, connection } = await connect()
    cloud.fail({ status: 500 })
    expect(await connection.send({ key: 'k', to, text: 'hello' })).toMatchObject({ outcome: 'unknown' })
  })

  it('shows that the agent is typing, for the message that it answers', async () => {
    const { cloud, connection } = await connect()
    await connection.typing!(to, true, { messageId: 'wamid.1' })
    await connection.typing!(to, false, { messageId: 'wamid.1' })
    await connection.typing!(to, true)
    expect(cloud.typing).toEqual(['wamid.1'])
  })
})

describe('the settings of the Cloud API', () => {
  it('are complete or absent', async () => {
    const context = { ...createTestContext(), accountId: 'default', lost: () => undefined }
    const connecting = whatsapp.connect({ accessToken: 'x' }, { ...context, receive: async () => 'accepted' as const })
    await expect(connecting).rejects.toThrow('The Cloud API also needs phoneNumberId, verifyToken, appSecret.')
  })

  it('have no logout', async () => {
    const { cloud } = await connect()
    const context = { ...createTestContext(), accountId: 'default' }
    await expect(whatsapp.logout!(cloud.config, context)).rejects.toThrow(/has no login/)
  })
})

describe('the setup at Meta', () => {
  const unregistered = 'the phone number is not registered, so nothing can be sent'
  const unsubscribed = 'the app is not subscribed to the WhatsApp account, so no message arrives'
  const command = 'Do it with: svc-gateway channels login whatsapp'

  it.each([
    [{ registered: false, subscribed: true }, `At Meta, ${unregistered}. ${command}`],
    [{ registered: true, subscribed: false }, `At Meta, ${unsubscribed}. ${command}`],
    [{ registered: false, subscribed: false }, `At Meta, ${unregistered}, and ${unsubscribed}. ${command}`],
  ])('is checked by connect, and done by login: %o', async (state, message) => {
    const cloud = await openDouble(openWhatsappCloud())
    cloud.reset(state)
    await expect(connectChannel(whatsapp, cloud.config)).rejects.toMatchObject({ name: 'AuthError', message })
    const asked: LoginQuestion[] = []
    for await (const _step of login(cloud, { asked, answers: [cloud.pin] }));
    expect(asked).toHaveLength(state.registered ? 0 : 1)
    expect(cloud.isSetUp()).toBe(true)
    const { connection } = await connectChannel(whatsapp, cloud.config)
    expect(await connection.send({ key: 'k', to, text: 'hello' })).toMatchObject({ outcome: 'sent' })
  })

  it('asks again for a PIN that is malformed or wrong, three times', async () => {
    const cloud = await openDouble(openWhatsappCloud())
    cloud.reset({ registered: false, subscribed: true })
    const asked: LoginQuestion[] = []
    const steps = login(cloud, { asked, answers: ['12 34', '111111', '222222', '333333', cloud.pin] })
    await expect(steps[Symbol.asyncIterator]().next()).rejects.toThrow(
      'The phone number could not be registered. The PIN is wrong. (133005)',
    )
    expect(cloud.pins).toEqual(['111111', '222222', '333333'])
    expect(asked.every(({ secret }) => secret)).toBe(true)
    expect(asked.map(({ question }) => question.split('. ')[0])).toEqual([
      'The six-digit PIN of the phone number',
      'A PIN has six digits',
      'The PIN is wrong',
      'The PIN is wrong',
    ])
  })

  it('is not known to a token without the permission, which the log says', async () => {
    const cloud = await openDouble(openWhatsappCloud())
    cloud.hideSetup()
    const { context } = await connectChannel(whatsapp, cloud.config)
    expect(context.logged).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('whatsapp_business_management') }),
    )
    await expect(login(cloud)[Symbol.asyncIterator]().next()).rejects.toThrow(/whatsapp_business_management/)
  })

  it('is named by a message that is sent after the number was removed', async () => {
    const { cloud, connection } = await connect()
    cloud.reset({ registered: false, subscribed: true })
    const detail = expect.stringContaining('channels login whatsapp')
    expect(await connection.send({ key: 'k', to, text: 'hello' })).toMatchObject({ reason: 'auth', detail })
  })

  function login(
    cloud: Awaited<ReturnType<typeof openWhatsappCloud>>,
    { asked = [], answers = [] }: { asked?: LoginQuestion[]; answers?: string[] } = {},
  ) {
    const ask = async (question: LoginQuestion) => {
      asked.push(question)
      return answers.shift()!
    }
    return whatsapp.login!(cloud.config, { ...createTestContext(), accountId: 'default', ask })
  }
})

it.each([
  [{ 'retry-after': '60' }, 60_000],
  [
    {
      'x-business-use-case-usage':
        '{"1":[{"type":"whatsapp","estimated_time_to_regain_access":2}],"2":[{"estimated_time_to_regain_access":0}]}',
    },
    120_000,
  ],
  [{ 'x-business-use-case-usage': 'no JSON' }, undefined],
])('the error of connect says how long a limit lasts: %o', async (headers, retryAfterMs) => {
  const cloud = await openDouble(openWhatsappCloud())
  cloud.limit(headers)
  await expect(connectChannel(whatsapp, cloud.config)).rejects.toMatchObject({
    name: 'Error',
    message: 'WhatsApp asks to slow down. (80007)',
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
})
