// Messages of WhatsApp as a linked device: what is sent, what is received, and what the platform makes hard.
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createSentMessages, longestMs, mostMessages, wipeSentMessages } from '../../channels/whatsapp/sent-messages.ts'
import type { ChannelContext, Connection, InboundMessage, Json } from '../../core/plugin/plugin.ts'
import { readText } from '../read-text.ts'
import { forwarded } from '../doubles/whatsapp.ts'
import {
  connect,
  createState,
  group,
  linkAccount,
  type LinkedAccount,
  openLinked,
  send,
  to,
} from '../doubles/whatsapp-account.ts'

let linked: LinkedAccount
beforeAll(async () => {
  linked = await linkAccount()
})

describe('sending', () => {
  it.each([
    [463, { outcome: 'failed', reason: 'permanent', detail: expect.stringContaining('new conversations') }],
    [479, { outcome: 'failed', reason: 'permanent' }],
    [429, { outcome: 'failed', reason: 'rate' }],
    [503, { outcome: 'failed', reason: 'transient' }],
  ])('reports that the server refused the message with %i', async (refuse, result) => {
    const { server, state } = await openLinked(linked)
    const { connection } = await connect(server, state)
    server.fail({ refuse })
    expect(await send(connection, 'hello')).toMatchObject(result)
  })

  it('reports a number without an account', async () => {
    const { server, state } = await openLinked(linked)
    const { connection } = await connect(server, state)
    expect(await connection.send({ key: 'k', to: '+000123456', text: 'hello' })).toMatchObject({
      outcome: 'failed',
      reason: 'permanent',
      detail: 'There is no WhatsApp account with this phone number.',
    })
    expect(server.received).toEqual([])
  })

  it.each(['lose-message', 'no-answer'] as const)('is unknown until the server confirms it: %s', async (fault) => {
    const { server, state } = await openLinked(linked)
    const { connection } = await connect(server, state)
    server.fail(fault)
    const sending = send(connection, 'hello')
    if (fault === 'no-answer') {
      await server.until(() => server.received.length === 1)
      server.disconnect()
    }
    expect(await sending).toMatchObject({ outcome: 'unknown' })
  })

  it.each([to, group])('uses no key again after a crash before the key was stored as used, to %s', async (to) => {
    const { server, state, records } = await openLinked(linked)
    server.addGroup(group, ['15551112222'])
    const before = await connect(server, state)
    await before.connection.send({ key: 'first', to, text: 'first' })
    const crashed = Promise.withResolvers<never>()
    const writing = new Promise<void>((resolve) => {
      state.set = async () => (resolve(), crashed.promise)
    })
    const sending = before.connection.send({ key: 'second', to, text: 'second' })
    await writing
    server.disconnect()
    expect(await sending).toMatchObject({ outcome: 'failed', reason: 'transient' })
    const after = await connect(server, createState(records))
    await after.connection.send({ key: 'third', to, text: 'third' })
    expect(server.received.map(({ text }) => text)).toEqual(['first', 'third'])
  })

  it('uses no key twice while a message of the same person is stored', async () => {
    const { server, state } = await openLinked(linked)
    const stored = Promise.withResolvers<'accepted'>()
    const received = Promise.withResolvers<void>()
    const receive: ChannelContext['receive'] = ({ text }) =>
      text === 'Hello?' ? (received.resolve(), stored.promise) : Promise.resolve('accepted')
    const { connection, settled } = await connect(server, state, receive)
    await send(connection, 'first')
    // Both have the same chain of keys, which the next reply ends.
    for (const text of ['Hi.', 'Hello?']) await server.say(text)
    await received.promise
    expect(await send(connection, 'second')).toMatchObject({ outcome: 'sent' })
    stored.resolve('accepted')
    await settled()
    expect(await send(connection, 'third')).toMatchObject({ outcome: 'sent' })
    expect(server.received.map(({ text }) => text)).toEqual(['first', 'second', 'third'])
  })

  it('certainly failed if the connection was closed before', async () => {
    const { server, state } = await openLinked(linked)
    const { connection } = await connect(server, state)
    await connection.close()
    expect(await send(connection, 'hello')).toMatchObject({ outcome: 'failed', reason: 'transient' })
  })

  it('gives a message the same id in each attempt', async () => {
    const { server, state } = await openLinked(linked)
    const { connection } = await connect(server, state)
    for (const text of ['first', 'second']) await send(connection, text, 'one key')
    expect(new Set(server.received.map(({ id }) => id)).size).toBe(1)
  })

  it('sends to groups, and refuses unknown ones', async () => {
    const { server, state } = await openLinked(linked)
    server.addGroup(group, ['15551112222'])
    const { connection } = await connect(server, state)
    expect(await connection.send({ key: 'k1', to: group, text: 'all' })).toMatchObject({ outcome: 'sent' })
    expect(server.received).toMatchObject([{ to: group, text: 'all' }])
    const unknown = { key: 'k2', to: '120363000000000009@g.us', text: 'x' }
    expect(await connection.send(unknown)).toMatchObject({ outcome: 'failed', reason: 'permanent' })
  })

  it.each([
    ['report.txt', 'text/plain'],
    ['photo.png', 'image/png'],
  ])('sends the file %s, encrypted, with its caption', async (name, type) => {
    const { server, state } = await openLinked(linked)
    const { connection } = await connect(server, state)
    const data = name.endsWith('png') ? pixel : Buffer.from('All is well.')
    expect(await connection.send({ key: 'k', to, text: 'See this.', file: { name, type, data } })).toMatchObject({
      outcome: 'sent',
    })
    const [message] = server.received
    expect(message).toMatchObject({ text: 'See this.', file: { type } })
    expect(message!.file!.data.equals(data)).toBe(true)
  })

  it('sends a message again to the phone that asks for it, also after a restart, and to no other', async () => {
    const { server, state } = await openLinked(linked)
    const before = await connect(server, state)
    await send(before.connection, 'hello')
    await before.connection.close()
    const { connection, settled } = await connect(server, state)
    const { id } = server.received[0]!
    server.askAgain(id, '15553334444')
    await settled()
    server.askAgain(id, '15551112222')
    await settled()
    await send(connection, 'later')
    expect(server.received.map(({ id, to, text }) => [id, to, text])).toEqual([
      [id, to, 'hello'],
      [id, to, 'hello'],
      [expect.any(String), to, 'later'],
    ])
  })

  it('keeps what was sent for as long and as many as a phone may ask for', async () => {
    const records = new Map<string, Json>()
    const sent = createSentMessages(createState(records))
    const message = { to: 'x@s.whatsapp.net', data: Buffer.from('text') }
    await sent.keep('large', { ...message, data: Buffer.alloc(65 * 1024) })
    for (let count = 0; count <= mostMessages; count++) await sent.keep(String(count), message)
    expect(records.size).toBe(mostMessages + 1)
    expect([await sent.find('0'), await sent.find('1'), await sent.find('large')]).toEqual([
      undefined,
      message,
      undefined,
    ])
    vi.useFakeTimers({ now: Date.now() + longestMs, toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    expect(await sent.find('1')).toBeUndefined()
    await sent.keep('new', message)
    expect([...records.keys()]).toEqual(['sent', 'sent:new'])
    await wipeSentMessages(createState(records))
    expect(records.size).toBe(0)
  })

  it('asks who is in a group once, and again when that has changed', async () => {
    const { server, state } = await openLinked(linked)
    server.addGroup(group, ['15551112222'])
    const { connection } = await connect(server, state)
    for (const text of ['one', 'two']) await connection.send({ key: text, to: group, text })
    expect(server.groupQueries()).toBe(1)
    server.changeGroup(group, ['15551112222', '15553334444'])
    await server.say('after the change')
    await server.until(() => server.pending().length === 0)
    await connection.send({ key: 'three', to: group, text: 'three' })
    expect(server.groupQueries()).toBe(2)
    expect(server.received.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
  })

  it('shows that the agent is typing', async () => {
    const { server, state } = await openLinked(linked)
    const { connection } = await connect(server, state)
    await connection.typing!(to, true)
    await connection.typing!(to, false)
    await server.until(() => server.chatStates.length === 2)
    expect(server.chatStates.map(({ state }) => state)).toEqual(['composing', 'paused'])
  })
})

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('receiving', () => {
  it('sends the receipt only when the message is on disk', async () => {
    const { server, state } = await openLinked(linked)
    const stored = Promise.withResolvers<'accepted'>()
    const called = Promise.withResolvers<void>()
    const { settled } = await connect(server, state, () => {
      called.resolve()
      return stored.promise
    })
    const id = await server.say('hello')
    await called.promise
    expect(server.pending()).toEqual([id])
    stored.resolve('accepted')
    await settled()
  })

  it('knows the phone number of a sender who is named by a LID', async () => {
    const { server, state } = await openLinked(linked)
    const { inbox, settled } = await connect(server, state)
    await server.say('stranger', { lid: 'without-number', from: '15553334444' })
    await server.say('with number', { lid: 'with-number' })
    await server.say('without', { lid: 'without-number' })
    await settled()
    expect(inbox.map(({ from }) => from.id)).toEqual(['915553334444@lid', to, to])
    expect(inbox.map((message) => message.to)).toEqual(['915553334444@lid', to, to])
    const lid = `9${to.slice(1)}@lid`
    expect(inbox.map(({ from }) => from.otherIds)).toEqual([undefined, [lid], [lid]])
  })

  it('can answer a sender whose number is unknown', async () => {
    const { server, state } = await openLinked(linked)
    const { connection, inbox, settled } = await connect(server, state)
    await server.say('hello', { lid: 'without-number' })
    await settled()
    expect(await connection.send({ key: 'k', to: inbox[0]!.to, text: 'hi' })).toMatchObject({ outcome: 'sent' })
    expect(server.received).toMatchObject([{ to, text: 'hi' }])
  })

  it('removes the mention from the text, and takes a reply to the account for a mention', async () => {
    const { server, state } = await openLinked(linked)
    const { inbox, settled } = await connect(server, state)
    await server.sayInGroup('what is new?', { group, mentioned: true })
    const participant = `9${server.account}@lid`
    const quoted = { text: 'thanks', contextInfo: { participant, quotedMessage: { conversation: 'hi' } } }
    await server.say({ extendedTextMessage: quoted }, { group })
    await settled()
    expect(inbox).toMatchObject([
      { to: group, group: 'group', mentioned: true, text: 'what is new?', from: { id: to } },
      { to: group, group: 'group', mentioned: true, text: 'thanks' },
    ])
  })

  it('quotes what it answers, with its file, and knows its own messages by either id of the account', async () => {
    const { server, state } = await openLinked(linked)
    const read: string[] = []
    const quotes: unknown[] = []
    const { settled } = await connect(server, state, async ({ quoted }) => {
      quotes.push(quoted)
      for (const file of quoted?.attachments ?? []) read.push(await readText(file))
      return 'accepted'
    })
    await server.say('first', { lid: 'with-number' })
    await settled()
    const file = { ...(await server.media.put(Buffer.from('All is well.'), 'document')), fileName: 'r.txt' }
    const answer = (contextInfo: object) => server.say({ extendedTextMessage: { text: 'why?', contextInfo } })
    const participant = `9${to.slice(1)}@lid`
    const copy = { documentWithCaptionMessage: { message: { documentMessage: { ...file, caption: 'The report' } } } }
    await answer({ stanzaId: 'a', participant, quotedMessage: copy })
    await answer({ stanzaId: 'b', participant: `9${server.account}@lid`, quotedMessage: { conversation: 'hi' } })
    await answer({ stanzaId: 'c', participant })
    await answer({
      stanzaId: 'd',
      participant,
      quotedMessage: { extendedTextMessage: { text: 'keys', contextInfo: forwarded } },
    })
    await answer({ mentionedJid: [] })
    await settled()
    const author = { isOwn: false, from: { id: to } }
    expect(quotes).toMatchObject([
      undefined,
      { id: 'a', ...author, text: 'The report', attachments: [{ name: 'r.txt' }] },
      { id: 'b', isOwn: true, text: 'hi', attachments: [] },
      { id: 'c', ...author },
      { id: 'd', from: undefined, text: 'keys' },
      undefined,
    ])
    expect(read).toEqual(['All is well.'])
  })

  it('says what its sender passes on, and which channel it is from', async () => {
    const { server, state } = await openLinked(linked)
    const { inbox, settled } = await connect(server, state)
    const image = { ...(await server.media.put(Buffer.from('png'), 'image')), mimetype: 'image/png' }
    const news = { isForwarded: true, forwardedNewsletterMessageInfo: { newsletterName: 'News' } }
    for (const contextInfo of [forwarded, { forwardingScore: 127 }, news, { isForwarded: false, forwardingScore: 0 }])
      await server.say({ imageMessage: { ...image, contextInfo } })
    await settled()
    expect(inbox.map(({ forwardedFrom }) => forwardedFrom)).toEqual([{}, {}, { name: 'News' }, undefined])
  })

  async function pictures({ media }: Awaited<ReturnType<typeof openLinked>>['server'], captions: string[]) {
    const all = []
    for (const [index, caption] of captions.entries()) {
      const file = await media.put(Buffer.from(`picture ${index}`), 'image')
      all.push({ imageMessage: { ...file, mimetype: 'image/png', caption } })
    }
    return all
  }

  it('has an album as one message, whose parts get a receipt when it is on disk', async () => {
    const { server, state } = await openLinked(linked)
    const [called, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const received: InboundMessage[] = []
    const read: string[] = []
    const { settled } = await connect(server, state, async (message) => {
      if (message.text === '') called.resolve()
      await stored.promise
      received.push(message)
      for (const file of message.attachments ?? []) read.push(await readText(file))
      return 'accepted'
    })
    const ids = await server.sayAlbum(await pictures(server, ['', '', '']), { group })
    await server.say('and now?', { group })
    await server.say('hello', { from: '15553334444' })
    await called.promise
    expect(server.pending()).toEqual(expect.arrayContaining(ids))
    stored.resolve()
    await settled()
    expect(received.map(({ text, attachments }) => [text, attachments?.length])).toEqual([
      ['', 3],
      ['and now?', undefined],
      ['hello', undefined],
    ])
    expect(received[0]).toMatchObject({ id: ids[0], group: 'group', to: group })
    expect(read).toEqual(['picture 0', 'picture 1', 'picture 2'])
  })

  it('has an album once if the connection breaks after it was stored', async () => {
    const { server, state, records } = await openLinked(linked)
    const received: InboundMessage[] = []
    const crashed = Promise.withResolvers<void>()
    const { set } = state
    state.set = async (key, value) => {
      await set(key, value)
      if (key !== 'album-parts') return
      crashed.resolve()
      await Promise.withResolvers<never>().promise
    }
    const receive: ChannelContext['receive'] = async (message) => {
      received.push(message)
      return 'accepted'
    }
    await connect(server, state, receive)
    const ids = await server.sayAlbum(await pictures(server, ['one', 'two']))
    await crashed.promise
    expect(server.pending()).toEqual(expect.arrayContaining(ids))
    server.disconnect()
    const { settled } = await connect(server, createState(records), receive)
    await settled()
    expect(received.map(({ text }) => text)).toEqual(['one\ntwo'])
  })

  it('waits once for a picture of an album that stays away, which is then a message of its own', async () => {
    const { server, state } = await openLinked(linked)
    const { inbox, settled } = await connect(server, state)
    const [one, two, late] = await pictures(server, ['one', 'two', 'late'])
    await server.sayAlbum([one!, two!], { announced: 3 })
    await settled()
    await server.say(late!)
    // Not again: everybody else would wait, too.
    for (let count = 0; count < 5; count++) await server.sayAlbum([one!], { announced: 3 })
    await settled()
    expect(inbox.map(({ text }) => text)).toEqual(['one\ntwo', 'late', ...Array<string>(5).fill('one')])
  })

  it('describes files, and reads them when it is asked to', async () => {
    const { server, state } = await openLinked(linked)
    const read: string[] = []
    const { settled } = await connect(server, state, async ({ text, attachments = [] }) => {
      expect([text, attachments]).toMatchObject(['The report', [{ name: 'r.txt', type: 'text/plain', size: 12 }]])
      read.push(await readText(attachments[0]!))
      return 'accepted'
    })
    const file = await server.media.put(Buffer.from('All is well.'), 'document')
    const fields = { fileName: 'r.txt', mimetype: 'text/plain; charset=utf-8', caption: 'The report' }
    await server.say({ documentMessage: { ...file, ...fields } })
    await settled()
    expect(read).toEqual(['All is well.'])
  })

  it.each([
    ['an address on another host', { directPath: '@evil.example/x' }, /no address/],
    ['only a foreign address', { directPath: null, url: 'https://evil.example/x' }, /no address/],
    ['another key', { mediaKey: new Uint8Array(32) }, /checksum/],
  ])('does not read a file with %s', async (_case, changes, reason) => {
    const { server, state } = await openLinked(linked)
    const errors: unknown[] = []
    const { settled } = await connect(server, state, async ({ attachments = [] }) => {
      await readText(attachments[0]!).catch((error: unknown) => errors.push(error))
      return 'accepted'
    })
    const file = await server.media.put(Buffer.from('All is well.'), 'image')
    await server.say({ imageMessage: { ...file, mimetype: 'image/png', ...changes } })
    await settled()
    expect(errors).toMatchObject([{ message: expect.stringMatching(reason) }])
  })

  it('ignores what is not a message: reactions, edits, status updates, and nodes of unknown shape', async () => {
    const { server, state } = await openLinked(linked)
    const { inbox, connection } = await connect(server, state)
    await server.say({ reactionMessage: { text: '👍', key: { id: 'x' } } })
    await server.say({ protocolMessage: { type: 14, editedMessage: { conversation: 'edited' } } })
    await server.say({ extendedTextMessage: { text: '   ' } })
    server.inject({ tag: 'message', attrs: {}, content: [{ tag: 'enc', attrs: {}, content: new Uint8Array(3) }] })
    server.inject({ tag: 'message', attrs: { id: 'x', from: 'y' } })
    const forged = { tag: 'enc', attrs: { v: '2', type: 'pkmsg' }, content: Buffer.from('3300', 'hex') }
    server.inject({ tag: 'message', attrs: { id: 'x', from: '1@s.whatsapp.net', t: 'never' }, content: [forged] })
    await server.say('a message')
    await expect.poll(() => inbox.map(({ text }) => text)).toEqual(['a message'])
    expect(await send(connection, 'still here')).toMatchObject({ outcome: 'sent' })
  })

  it('tells the agent of messages that are neither text nor file', async () => {
    const { server, state } = await openLinked(linked)
    const { inbox, settled } = await connect(server, state)
    await server.say({ locationMessage: { degreesLatitude: 48.1, degreesLongitude: 11.5, name: 'Office' } })
    const vcard = 'BEGIN:VCARD\nFN:Bob\nitem1.TEL;waid=15552223333:+1 555 222 3333\nEND:VCARD'
    await server.say({ contactMessage: { displayName: 'Bob', vcard } })
    await server.say({ pollCreationMessageV3: { name: 'Lunch?', options: [] } })
    await server.say({ listResponseMessage: { title: 'Red' } })
    await settled()
    expect(inbox.map(({ text }) => text)).toEqual([
      'Location: Office (48.1, 11.5)',
      'Contact: Bob, +1 555 222 3333',
      '[A message of the type "pollCreationMessageV3" came, which the gateway cannot read.]',
      'Red',
    ])
  })

  it('stores the keys of replies that start while a message is stored', async () => {
    const { server, state } = await openLinked(linked)
    const replies: Promise<unknown>[] = []
    const connections: Connection[] = []
    const reply: ChannelContext['receive'] = async ({ text }) => {
      // As the gateway does: the run starts when the message is stored, and `receive` does not wait for its reply.
      replies.push(Promise.resolve().then(() => send(connections.at(-1)!, `re: ${text}`)))
      return 'accepted'
    }
    for (const text of ['one', 'two', 'three']) {
      const { connection, settled } = await connect(server, state, reply)
      connections.push(connection)
      await server.say(text)
      await settled()
      await Promise.all(replies)
      await connection.close()
    }
    expect(server.received.map(({ text }) => text)).toEqual(['re: one', 're: two', 're: three'])
  })
})
