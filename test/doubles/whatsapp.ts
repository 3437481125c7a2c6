// A double of WhatsApp: linking by QR code, encrypted messages both ways, receipts, groups, files and faults.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type BinaryNode,
  Curve,
  getBinaryNodeChild as child,
  getBinaryNodeChildren as children,
  hmacSign,
  jidDecode,
  proto,
  WA_ADV_ACCOUNT_SIG_PREFIX,
} from 'baileys'
import { WebSocketServer } from 'ws'
import { openMediaServer } from './whatsapp-media.ts'
import { createPerson, type DeviceKeys, type Person } from './whatsapp-person.ts'
import { acceptTransport, serverIdentity, type Transport } from './whatsapp-transport.ts'

export interface ReceivedMessage {
  id: string
  /** What the phone of the sender fetched for a preview, which travels in the message. */
  fetches: string[]
  /** A phone number with `+`, or the id of a group. */
  to: string
  text: string
  file?: { name: string | undefined; type: string | undefined; data: Buffer }
}

/** What happens to the next message: the connection breaks before or after it is accepted, or it is refused. */
type Fault = 'lose-message' | 'lose-answer' | 'no-answer' | { refuse: number }

interface Socket extends Transport {
  /** The linked device, once it has logged in. */
  device?: string
  clientKey: Uint8Array
  isPairing: boolean
  close(): void
}

interface SayOptions {
  /** The number of the sender. */
  from?: string
  group?: string
  id?: string
  /** The sender is named by a LID: with the number in the message, or without. */
  lid?: 'with-number' | 'without-number'
}

const server = 's.whatsapp.net'
const account = '15550000001'
const deviceJid = `${account}:5@${server}`

export type WhatsappServer = Awaited<ReturnType<typeof openWhatsapp>>

/** @param linked keys of a device that is linked already */
export async function openWhatsapp(linked?: DeviceKeys) {
  const media = await openMediaServer()
  const sockets = new Set<Socket>()
  const devices = new Map<string, DeviceKeys>()
  if (linked) devices.set(deviceJid, structuredClone(linked))
  const people = new Map<string, Person>()
  const groups = new Map<string, string[]>()
  const received: ReceivedMessage[] = []
  const chatStates: { to: string | undefined; state: string | undefined }[] = []
  const surprises: string[] = []
  /** Messages without a receipt; the device gets them again when it connects. */
  const pending = new Map<string, BinaryNode>()
  const waiting = new Set<{ fits: () => boolean; resolve: () => void }>()
  const faults: Fault[] = []
  let messageCount = 0
  let displayName = 'Alice'
  let restarts = 0
  let ignoresLogins = false
  /** The revision of WhatsApp Web, and the oldest that may log in. */
  let version: { current: number | undefined; oldest: number } = { current: undefined, oldest: 0 }
  let nextFailure: Record<string, string> | undefined
  let groupQueries = 0

  const check = (): void => {
    for (const waiter of waiting) if (waiter.fits()) waiter.resolve()
  }
  /** Resolves when the condition holds, which is checked after everything that the server receives. */
  const until = async (fits: () => boolean): Promise<void> => {
    if (fits()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { fits, resolve }
    waiting.add(waiter)
    await promise
    waiting.delete(waiter)
  }

  const personOf = (number: string): Person => {
    const person = people.get(number) ?? createPerson(number)
    people.set(number, person)
    return person
  }
  /** The number behind an id, which may be a LID: 9 and the number. */
  const numberOf = (jid: string): string => {
    const { user, server: kind } = jidDecode(jid)!
    return kind === 'lid' ? user.slice(1) : user
  }

  /** As `WAWebFailureErrorCodes` of WhatsApp Web and whatsmeow's `ConnectFailureReason` list the reasons. */
  function refuse(socket: Socket, attrs: Record<string, string>): void {
    socket.send({ tag: 'failure', attrs: { location: 'test', ...attrs } })
    socket.close()
  }

  function onHello(socket: Socket, payload: proto.ClientPayload, isRefused: boolean) {
    const { username, device, devicePairingData, userAgent } = payload
    // 405 is CLIENT_TOO_OLD, at login and at pairing (Baileys#999, Baileys#1937).
    if ((userAgent?.appVersion?.tertiary ?? 0) < version.oldest) return refuse(socket, { reason: '405' })
    const failure = nextFailure
    nextFailure = undefined
    if (failure) return refuse(socket, failure)
    if (devicePairingData) {
      socket.isPairing = true
      const refs = Array.from({ length: 6 }, (_, index) => leaf('ref', Buffer.from(`2@REF${index}`)))
      socket.send(iq('pair', 'set', [{ tag: 'pair-device', attrs: {}, content: refs }]))
      return
    }
    if (ignoresLogins) return
    const jid = `${String(username)}:${device}@${server}`
    if (!devices.has(jid) || isRefused) {
      return refuse(socket, { reason: '401' })
    }
    if (restarts > 0) {
      restarts--
      return closeWith(socket, '515')
    }
    for (const other of sockets) if (other.device === jid) closeWith(other, '440', 'conflict')
    socket.device = jid
    socket.send({ tag: 'success', attrs: { t: now(), lid: `9${String(username)}:${device}@lid`, props: '1' } })
    for (const message of pending.values()) socket.send({ ...message, attrs: { ...message.attrs, offline: '1' } })
    const offline: BinaryNode = { tag: 'offline', attrs: { count: String(pending.size) } }
    socket.send({ tag: 'ib', attrs: { from: server }, content: [offline] })
  }

  function closeWith(socket: Socket, code: string, reason?: string): void {
    delete socket.device
    const content = reason ? [{ tag: reason, attrs: { type: 'replaced' } }] : []
    socket.send({ tag: 'stream:error', attrs: { code }, content })
    socket.close()
  }

  async function onNode(socket: Socket, node: BinaryNode): Promise<void> {
    if (node.tag === 'iq') answerQuery(socket, node)
    else if (node.tag === 'message') await onMessage(socket, node)
    else if (node.tag === 'chatstate')
      chatStates.push({ to: node.attrs.to, state: (node.content as BinaryNode[])[0]?.tag })
    else if (node.tag === 'receipt' || node.tag === 'ack') pending.delete(node.attrs.id!)
    else if (!['presence', 'ib'].includes(node.tag)) surprises.push(`unknown node ${node.tag}`)
    check()
  }

  function answerQuery(socket: Socket, node: BinaryNode): void {
    const { id = '', type, xmlns = '' } = node.attrs
    const [content] = Array.isArray(node.content) ? node.content : []
    if (type === 'result') return content?.tag === 'pair-device-sign' ? onPaired(socket) : undefined
    const answer = queries[`${xmlns} ${content?.tag ?? ''}`.trim()]
    if (!answer) surprises.push(`unknown query ${xmlns} ${content?.tag}`)
    const result = answer?.(node, socket)
    if (result === 'error') {
      const error = { tag: 'error', attrs: { code: '404', text: 'item-not-found' } }
      return socket.send({ tag: 'iq', attrs: { from: server, type: 'error', id }, content: [error] })
    }
    return socket.send({ tag: 'iq', attrs: { from: server, type: 'result', id }, content: result ?? [] })
  }

  function onPaired(socket: Socket): void {
    devices.set(deviceJid, noKeys)
    closeWith(socket, '515')
  }

  const queries: Record<string, (node: BinaryNode, socket: Socket) => BinaryNode[] | 'error' | void> = {
    'encrypt count': () => [{ tag: 'count', attrs: { value: String(devices.get(deviceJid)!.preKeys.length) } }],
    'encrypt registration': (node) => void devices.set(deviceJid, readKeys(node, devices.get(deviceJid)!)),
    'encrypt digest': () => [{ tag: 'digest', attrs: {} }],
    'encrypt key': (node) => {
      const bundle = ({ attrs }: BinaryNode): BinaryNode => ({
        tag: 'user',
        attrs: { jid: attrs.jid! },
        content: personOf(numberOf(attrs.jid!)).keyBundle(),
      })
      return [{ tag: 'list', attrs: {}, content: children(child(node, 'key'), 'user').map(bundle) }]
    },
    'usync usync': (node) => {
      const usync = child(node, 'usync')!
      const protocols = (child(usync, 'query')!.content as BinaryNode[]).map(({ tag }) => tag)
      const users = children(child(usync, 'list'), 'user').map((user) => describeUser(user, protocols))
      const result = { tag: 'result', attrs: {}, content: protocols.map((tag) => ({ tag, attrs: {} })) }
      return [{ tag: 'usync', attrs: {}, content: [result, { tag: 'list', attrs: {}, content: users }] }]
    },
    'w:g2 query': ({ attrs }) => {
      const members = groups.get(attrs.to!)
      groupQueries++
      if (!members) return 'error'
      const participants = members.map((number) => ({ tag: 'participant', attrs: { jid: `${number}@${server}` } }))
      const info = { id: attrs.to!.split('@')[0]!, subject: 'group', creation: '1', s_t: '1', addressing_mode: 'pn' }
      return [{ tag: 'group', attrs: info, content: participants }]
    },
    'w:m media_conn': () => {
      const host = { tag: 'host', attrs: { hostname: media.host, maxContentLengthBytes: '100000000' } }
      return [{ tag: 'media_conn', attrs: { auth: 'test', ttl: '3600' }, content: [host] }]
    },
    'md remove-companion-device': (_node, socket) => {
      devices.delete(socket.device!)
      return []
    },
    'passive active': () => [],
    'w:p ping': () => [],
    'w props': () => [],
    'abt props': () => [],
    blocklist: () => [],
    'privacy privacy': () => [],
    'privacy tokens': () => [],
  }

  function describeUser(user: BinaryNode, protocols: string[]): BinaryNode {
    const number = user.attrs.jid
      ? numberOf(user.attrs.jid)
      : Buffer.from(child(user, 'contact')!.content as Uint8Array)
          .toString()
          .replace('+', '')
    const answers: Record<string, BinaryNode> = {
      devices: {
        tag: 'devices',
        attrs: {},
        content: [{ tag: 'device-list', attrs: {}, content: [{ tag: 'device', attrs: { id: '0' } }] }],
      },
      contact: { tag: 'contact', attrs: { type: number.startsWith('000') ? 'out' : 'in' } },
      lid: { tag: 'lid', attrs: { val: personOf(number).lid } },
    }
    const jid = user.attrs.jid ? user.attrs.jid.replace(/:\d+@/, '@') : `${number}@${server}`
    return { tag: 'user', attrs: { jid }, content: protocols.map((tag) => answers[tag] ?? { tag, attrs: {} }) }
  }

  async function onMessage(socket: Socket, node: BinaryNode): Promise<void> {
    const fault = faults.shift()
    if (fault === 'lose-message') return socket.close()
    const { id = '', to = '' } = node.attrs
    const refused = typeof fault === 'object' ? { error: String(fault.refuse) } : undefined
    if (!refused) received.push({ id, ...(await decryptMessage(node, to)) })
    if (fault === 'lose-answer') return socket.close()
    if (fault === 'no-answer') return
    socket.send({ tag: 'ack', attrs: { class: 'message', id, from: to, t: now(), ...refused } })
  }

  async function decryptMessage(node: BinaryNode, to: string): Promise<Omit<ReceivedMessage, 'id'>> {
    let message: proto.IMessage = {}
    for (const { attrs, content } of children(child(node, 'participants'), 'to')) {
      const number = numberOf(attrs.jid!)
      if (number === account) continue
      const person = personOf(number)
      message = await person.decrypt((content as BinaryNode[])[0]!, deviceJid)
      if (message.senderKeyDistributionMessage)
        await person.acceptSenderKey(message.senderKeyDistributionMessage, deviceJid)
    }
    const inGroup = children(node, 'enc').find(({ attrs }) => attrs.type === 'skmsg')
    if (!inGroup) return { to: `+${numberOf(to)}`, ...(await readContent(message)) }
    const member = personOf(groups.get(to)!.find((number) => number !== account)!)
    const decrypted = await member.decryptInGroup(inGroup.content as Uint8Array, to, deviceJid)
    return { to, ...(await readContent(decrypted)) }
  }

  async function readContent(message: proto.IMessage): Promise<Pick<ReceivedMessage, 'text' | 'file' | 'fetches'>> {
    const { imageMessage, documentWithCaptionMessage } = message
    const document = message.documentMessage ?? documentWithCaptionMessage?.message?.documentMessage
    const file = imageMessage ?? document
    const { matchedText } = message.extendedTextMessage ?? {}
    const fetches = matchedText ? [matchedText] : []
    if (!file) return { text: message.extendedTextMessage?.text ?? message.conversation ?? '', fetches }
    const data = await media.read(file.directPath!, file.mediaKey!, imageMessage ? 'image' : 'document')
    const name = document?.fileName ?? undefined
    return { text: file.caption ?? '', fetches, file: { name, type: file.mimetype ?? undefined, data } }
  }

  const http = createServer(({ url }, response) => {
    // The script from which WhatsApp Web, and Baileys' `fetchLatestWaWebVersion`, read the revision.
    if (url !== '/sw.js' || version.current === undefined) return response.writeHead(404).end()
    return response.end(`self.x=JSON.parse("{\\"client_revision\\":${version.current},\\"other\\":1}")`)
  })
  const wss = new WebSocketServer({ server: http })
  wss.on('connection', (ws, request) => {
    const isRefused = request.url === '/unlinked'
    const onError = (error: unknown): void => {
      surprises.push(`the double failed: ${String(error)}`)
      ws.close()
    }
    const socket: Socket = {
      clientKey: new Uint8Array(),
      isPairing: false,
      close: () => ws.close(),
      ...acceptTransport(ws, {
        onHello: (payload, clientKey) => {
          socket.clientKey = clientKey
          onHello(socket, payload, isRefused)
          check()
        },
        onNode: (node) => onNode(socket, node),
        onError,
      }),
    }
    sockets.add(socket)
    ws.on('close', () => {
      sockets.delete(socket)
      check()
    })
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const base = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`

  const openSocket = (): Socket | undefined => [...sockets].find(({ device }) => device !== undefined)

  async function say(message: string | proto.IMessage, options: SayOptions = {}): Promise<string> {
    const { from = '15551112222', group, lid, id = `3EBIN${++messageCount}` } = options
    const keys = devices.get(deviceJid)!
    const person = personOf(from)
    const content = typeof message === 'string' ? { conversation: message } : message
    const sender = lid ? person.lid : person.jid
    const number = lid === 'with-number' ? person.jid : undefined
    const attrs: Record<string, string> = group
      ? { from: group, participant: sender, ...(number && { participant_pn: number }) }
      : { from: sender, ...(number && { sender_pn: number }) }
    const enc = await person.encrypt(content, { jid: deviceJid, keys })
    const node = {
      tag: 'message',
      attrs: { ...attrs, id, type: 'text', t: now(), notify: displayName },
      content: [enc],
    }
    pending.set(id, node)
    openSocket()?.send(node)
    return id
  }

  return {
    /** The key that clients must trust, for a client in another process. */
    root: serverIdentity.root,
    config: { webSocketUrl: `${base}/`, mediaHost: media.host },
    /** An address where the server says that the device is not linked. */
    unlinkedUrl: `${base}/unlinked`,
    account,
    received,
    chatStates,
    surprises,
    media,
    until,
    /** The number of connected devices. */
    connected: () => [...sockets].filter(({ device }) => device !== undefined).length,
    /** The keys of the linked device, if there is one. */
    device: () => devices.get(deviceJid),
    pending: () => [...pending.keys()],
    /** WhatsApp Web has this revision, if its script can be read, and older ones than `oldest` may not log in. */
    setVersion: (next: typeof version) => void (version = next),
    /** The next login is refused with these attributes. */
    refuseNext: (attrs: Record<string, string>) => void (nextFailure = attrs),
    /** How often somebody has asked who is in a group. */
    groupQueries: () => groupQueries,
    /** Other people are in a group from now on, which its members are told. */
    changeGroup(id: string, members: string[]): void {
      groups.set(id, [account, ...members])
      const added = members.map((number) => ({ tag: 'participant', attrs: { jid: `${number}@${server}` } }))
      const attrs = {
        from: id,
        participant: `${members[0]!}@${server}`,
        id: `N${++messageCount}`,
        type: 'w:gp2',
        t: now(),
      }
      openSocket()?.send({ tag: 'notification', attrs, content: [{ tag: 'add', attrs: {}, content: added }] })
    },
    /** A phone could not decrypt a message of the account, or says so, and asks for it again. */
    askAgain(id: string, number: string): void {
      const attrs = { id, from: personOf(number).jid, type: 'retry', t: now() }
      const retry = { tag: 'retry', attrs: { count: '1', id, t: now(), v: '1' } }
      const node = { tag: 'receipt', attrs, content: [retry, leaf('registration', Buffer.alloc(4))] }
      pending.set(id, node)
      openSocket()?.send(node)
    },
    addGroup: (id: string, members: string[]) => void groups.set(id, [account, ...members]),
    fail: (fault: Fault) => void faults.push(fault),
    /** The phone scans a code that a device shows. */
    scan(qr: string): void {
      const [, key = '', identityKey = '', secret = ''] = (qr.split('#').at(-1) ?? '').split(',')
      const socket = [...sockets].find(({ isPairing, clientKey }) => isPairing && base64(clientKey) === key)
      if (!socket) throw new Error('no device shows this code')
      const content = [
        leaf('device-identity', signIdentity(Buffer.from(identityKey, 'base64'), secret)),
        { tag: 'platform', attrs: { name: 'iphone' } },
        { tag: 'device', attrs: { jid: deviceJid, lid: `9${account}:5@lid` } },
      ]
      socket.send(iq('paired', 'set', [{ tag: 'pair-success', attrs: {}, content }]))
    },
    /** Somebody writes. Without a connected device, the message waits. @returns its id */
    say,
    /** Everybody takes another display name. */
    rename: (name: string) => void (displayName = name),
    /** Somebody writes in a group. A mention is in the text, and in the message beside it. */
    async sayInGroup(text: string, { group, mentioned }: { group: string; mentioned: boolean }): Promise<string> {
      const mention = { text: `@${account} ${text}`, contextInfo: { mentionedJid: [`${account}@${server}`] } }
      return await say(mentioned ? { extendedTextMessage: mention } : text, { group })
    },
    answerTo,
    /**
     * Somebody sends an album: a message that announces it, and one for each file, which names the first one. See
     * `generateWAMessageContent` in `lib/Utils/messages.js` of baileys (`album`, `albumParentKey`).
     */
    async sayAlbum(
      files: readonly proto.IMessage[],
      { announced = files.length, ...options }: SayOptions & { announced?: number } = {},
    ): Promise<string[]> {
      const id = await say({ albumMessage: { expectedImageCount: announced, expectedVideoCount: 0 } }, options)
      const parentMessageKey = { remoteJid: `${account}@${server}`, fromMe: false, id }
      const messageAssociation = {
        associationType: proto.MessageAssociation.AssociationType.MEDIA_ALBUM,
        parentMessageKey,
      }
      const ids: string[] = []
      for (const file of files) ids.push(await say({ ...file, messageContextInfo: { messageAssociation } }, options))
      return ids
    },
    /** A message that the owner of the account has written on the phone. */
    async echo(text: string): Promise<void> {
      const phone = personOf(account)
      const to = personOf('15551112222').jid
      const message = { deviceSentMessage: { destinationJid: to, message: { conversation: text } } }
      const enc = await phone.encrypt(message, { jid: deviceJid, keys: devices.get(deviceJid)! })
      const id = `3EBECHO${++messageCount}`
      const attrs = { from: phone.jid, recipient: to, id, type: 'text', t: now() }
      pending.set(id, { tag: 'message', attrs, content: [enc] })
      openSocket()?.send({ tag: 'message', attrs, content: [enc] })
    },
    /** Sends any node to the device. */
    inject: (node: BinaryNode) => openSocket()?.send(node),
    /** The connection breaks. */
    disconnect(): void {
      for (const client of wss.clients) client.terminate()
    },
    closeWith: (code: string, reason?: string) => {
      for (const socket of sockets) closeWith(socket, code, reason)
    },
    /** The next login is answered with the request to connect again. */
    restartNext: () => void restarts++,
    forgetSession: (number: string) => personOf(number).forgetSessions(),
    ignoreLogins: () => void (ignoresLogins = true),
    sockets: () => sockets.size,
    /** The owner removes the device on the phone. */
    unlink(): void {
      devices.delete(deviceJid)
      for (const socket of sockets) closeWith(socket, '401')
    },
    async close(): Promise<void> {
      if (!http.listening) return
      for (const client of wss.clients) client.terminate()
      wss.close()
      await new Promise((resolve) => http.close(resolve))
      await media.close()
      if (surprises.length > 0) throw new Error(`WhatsApp's double did not expect: ${surprises.join('; ')}`)
    },
  }
}

interface Answered {
  id: string
  /** A number. */
  author: string
  message: proto.IMessage
}

/**
 * A message that answers another one, and mentions the account if the text does. Every client sends a copy of the
 * original: `generateWAMessageFromContent` in `lib/Utils/messages.js` of baileys does it as the apps do.
 */
function answerTo({ id, author, message }: Answered, text: string): proto.IMessage {
  const mentionedJid = text.includes(`@${account}`) ? [`${account}@${server}`] : []
  const contextInfo = { stanzaId: id, participant: `${author}@${server}`, quotedMessage: message, mentionedJid }
  return { extendedTextMessage: { text, contextInfo } }
}

/** What a message has that is passed on: `generateForwardMessageContent` in `lib/Utils/messages.js` of baileys. */
export const forwarded: proto.IContextInfo = { isForwarded: true, forwardingScore: 1 }

/** What a phone signs when it links a device. */
function signIdentity(identityKey: Uint8Array, secret: string): Uint8Array {
  const phone = Curve.generateKeyPair()
  const details = proto.ADVDeviceIdentity.encode({ rawId: 1, timestamp: Number(now()), keyIndex: 1 }).finish()
  const accountSignature = Curve.sign(phone.private, Buffer.concat([WA_ADV_ACCOUNT_SIG_PREFIX, details, identityKey]))
  const signed = proto.ADVSignedDeviceIdentity.encode({
    details,
    accountSignatureKey: phone.public,
    accountSignature,
  }).finish()
  const hmac = hmacSign(signed, Buffer.from(secret, 'base64'))
  return proto.ADVSignedDeviceIdentityHMAC.encode({ details: signed, hmac }).finish()
}

const noKeys: DeviceKeys = {
  identity: new Uint8Array(),
  registrationId: 0,
  signedPreKey: { id: 0, value: new Uint8Array(), signature: new Uint8Array() },
  preKeys: [],
}

/** The keys that a device uploads. */
function readKeys(node: BinaryNode, { preKeys }: DeviceKeys): DeviceKeys {
  const signed = child(node, 'skey')!
  const uploaded = child(node, 'list')!.content as BinaryNode[]
  return {
    identity: bytesOf(node, 'identity'),
    registrationId: numberIn(node, 'registration'),
    signedPreKey: {
      id: numberIn(signed, 'id'),
      value: bytesOf(signed, 'value'),
      signature: bytesOf(signed, 'signature'),
    },
    preKeys: [...preKeys, ...uploaded.map((item) => ({ id: numberIn(item, 'id'), value: bytesOf(item, 'value') }))],
  }
}

const bytesOf = (node: BinaryNode, tag: string): Buffer => Buffer.from(child(node, tag)!.content as Uint8Array)
const numberIn = (node: BinaryNode, tag: string): number => parseInt(bytesOf(node, tag).toString('hex'), 16)
const leaf = (tag: string, content: Uint8Array): BinaryNode => ({ tag, attrs: {}, content })
const iq = (id: string, type: string, content: BinaryNode[]): BinaryNode => ({
  tag: 'iq',
  attrs: { from: server, type, id, t: now() },
  content,
})
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const now = (): string => String(Math.floor(Date.now() / 1000))
