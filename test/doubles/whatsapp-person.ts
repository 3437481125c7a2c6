// People in the double of WhatsApp, each with a phone that really encrypts and decrypts.
import {
  addTransactionCapability,
  type BinaryNode,
  Curve,
  DEFAULT_CONNECTION_CONFIG,
  encodeBigEndian,
  generateSignalPubKey,
  initAuthCreds,
  KEY_BUNDLE_TYPE,
  proto,
  type SignalDataSet,
  type SignalDataTypeMap,
  unpadRandomMax16,
  writeRandomPadMax16,
} from 'baileys'
import { createLibraryLog } from '../../channels/whatsapp/library.ts'

/** The keys that a device has uploaded. */
export interface DeviceKeys {
  identity: Uint8Array
  registrationId: number
  signedPreKey: { id: number; value: Uint8Array; signature: Uint8Array }
  preKeys: { id: number; value: Uint8Array }[]
}

export type Person = ReturnType<typeof createPerson>

/** Enough for the sessions of one test. */
const preKeyCount = 10

export function createPerson(number: string) {
  const creds = initAuthCreds()
  const log = createLibraryLog({ debug: ignore, info: ignore, warn: ignore, error: ignore })
  const keys = addTransactionCapability(createKeyStore(), log, { maxCommitRetries: 1, delayBetweenTriesMs: 1 })
  const repository = DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds, keys }, log)
  const sessions = new Set<string>()
  const preKeys = new Map(Array.from({ length: preKeyCount }, (_, index) => [index + 1, Curve.generateKeyPair()]))
  const stored = keys.set({ 'pre-key': Object.fromEntries(preKeys) })
  const unused = [...preKeys]

  return {
    number,
    jid: `${number}@s.whatsapp.net`,
    lid: `9${number}@lid`,
    /** What the server answers to somebody who wants to write to this person. */
    keyBundle(): BinaryNode[] {
      const [id, pair] = unused.shift()!
      const { keyPair, signature, keyId } = creds.signedPreKey
      return [
        leaf('registration', encodeBigEndian(creds.registrationId)),
        leaf('type', KEY_BUNDLE_TYPE),
        leaf('identity', creds.signedIdentityKey.public),
        node('skey', [
          leaf('id', encodeBigEndian(keyId, 3)),
          leaf('value', keyPair.public),
          leaf('signature', signature),
        ]),
        node('key', [leaf('id', encodeBigEndian(id, 3)), leaf('value', pair.public)]),
      ]
    },
    /** Encrypts a message for a device. The first one starts the session with one of the device's keys. */
    async encrypt(message: proto.IMessage, device: { jid: string; keys: DeviceKeys }): Promise<BinaryNode> {
      if (!sessions.has(device.jid))
        await repository.injectE2ESession({ jid: device.jid, session: sessionWith(device.keys) })
      sessions.add(device.jid)
      const data = writeRandomPadMax16(proto.Message.encode(message).finish())
      const { type, ciphertext } = await repository.encryptMessage({ jid: device.jid, data })
      return { tag: 'enc', attrs: { v: '2', type }, content: ciphertext }
    },
    /** The next message starts a new session, as after a phone has lost the old one. */
    forgetSessions: () => sessions.clear(),
    async decrypt({ attrs, content }: BinaryNode, device: string): Promise<proto.Message> {
      await stored
      const ciphertext = content as Uint8Array
      sessions.add(device)
      const type = attrs.type as 'pkmsg' | 'msg'
      return decode(await repository.decryptMessage({ jid: device, type, ciphertext }))
    },
    async acceptSenderKey(item: proto.Message.ISenderKeyDistributionMessage, device: string): Promise<void> {
      await repository.processSenderKeyDistributionMessage({ item, authorJid: device })
    },
    async decryptInGroup(msg: Uint8Array, group: string, device: string): Promise<proto.Message> {
      return decode(await repository.decryptGroupMessage({ group, authorJid: device, msg }))
    },
  }
}

const decode = (plaintext: Uint8Array) => proto.Message.decode(unpadRandomMax16(plaintext))

function sessionWith({ identity, registrationId, signedPreKey, preKeys }: DeviceKeys) {
  const preKey = preKeys.shift()!
  return {
    registrationId,
    identityKey: generateSignalPubKey(identity),
    signedPreKey: {
      keyId: signedPreKey.id,
      publicKey: generateSignalPubKey(signedPreKey.value),
      signature: signedPreKey.signature,
    },
    preKey: { keyId: preKey.id, publicKey: generateSignalPubKey(preKey.value) },
  }
}

function createKeyStore() {
  const values = new Map<string, unknown>()
  return {
    async get<Type extends keyof SignalDataTypeMap>(type: Type, ids: string[]) {
      const found = ids.filter((id) => values.has(`${type}:${id}`)).map((id) => [id, values.get(`${type}:${id}`)])
      return Object.fromEntries(found) as Record<string, SignalDataTypeMap[Type]>
    },
    async set(data: SignalDataSet) {
      for (const [type, records] of Object.entries(data))
        for (const [id, value] of Object.entries(records ?? {})) {
          if (value === null || value === undefined) values.delete(`${type}:${id}`)
          else values.set(`${type}:${id}`, value)
        }
    },
  }
}

const ignore = () => undefined
const leaf = (tag: string, content: Uint8Array): BinaryNode => ({ tag, attrs: {}, content })
const node = (tag: string, content: BinaryNode[]): BinaryNode => ({ tag, attrs: {}, content })
