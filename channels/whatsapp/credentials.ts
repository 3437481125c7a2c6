// Keeps the credentials and the encryption keys of a linked device in the state of the account, one record per key.
import type { AuthenticationState, SignalDataSet, SignalDataTypeMap } from 'baileys'
import { createSerialQueue } from 'svc-gateway/kit'
import type { ExtensionState } from 'svc-gateway/plugin'
import type { Library } from './library.ts'
import { wipeSentMessages } from './sent-messages.ts'

export interface Credentials {
  auth: AuthenticationState
  isLinked(): boolean
  /** Stores the credentials, which the library changes in place. */
  save(): Promise<void>
  /** Deletes the credentials, every key, and what was sent. */
  wipe(): Promise<void>
}

type KeyType = keyof SignalDataTypeMap

const keyTypes = [
  'pre-key',
  'session',
  'sender-key',
  'sender-key-memory',
  'app-state-sync-key',
  'app-state-sync-version',
  'lid-mapping',
  'device-list',
  'tctoken',
  'identity-key',
] as const satisfies readonly KeyType[]

const credentialsKey = 'credentials'
const recordKey = (type: KeyType, id: string): string => `key:${type}:${id}`

export async function openCredentials(state: ExtensionState, { BufferJSON, initAuthCreds, proto }: Library) {
  const encode = (value: unknown): string => JSON.stringify(value, BufferJSON.replacer)
  const decode = (text: unknown): unknown => JSON.parse(String(text), BufferJSON.reviver)
  const index = createIndex(state)
  const stored = await state.get(credentialsKey)
  const creds = stored === undefined ? initAuthCreds() : (decode(stored) as AuthenticationState['creds'])
  const writes = createSerialQueue()
  let wiped = false

  async function read(type: KeyType, id: string): Promise<[string, unknown][]> {
    const text = await state.get(recordKey(type, id))
    if (text === undefined) return []
    const value = decode(text)
    const isSyncKey = type === 'app-state-sync-key'
    return [[id, isSyncKey ? proto.Message.AppStateSyncKeyData.fromObject(value as object) : value]]
  }

  /** New keys first: after a crash, a key too many does no harm, and a missing one does. */
  async function write(type: KeyType, records: Readonly<Record<string, unknown>>): Promise<void> {
    const isGone = (id: string): boolean => records[id] === null || records[id] === undefined
    const ids = Object.keys(records)
    const kept = ids.filter((id) => !isGone(id))
    await index.add(type, kept)
    await Promise.all(kept.map((id) => state.set(recordKey(type, id), encode(records[id]))))
    await Promise.all(ids.filter(isGone).map((id) => state.delete(recordKey(type, id))))
  }

  const keys: AuthenticationState['keys'] = {
    async get<Type extends KeyType>(type: Type, ids: string[]) {
      const entries = await Promise.all(ids.map((id) => read(type, id)))
      return Object.fromEntries(entries.flat()) as Record<string, SignalDataTypeMap[Type]>
    },
    async set(data: SignalDataSet) {
      if (!wiped) await Promise.all(keyTypes.map((type) => write(type, data[type] ?? {})))
    },
  }
  const credentials: Credentials = {
    auth: { creds, keys },
    isLinked: () => creds.me?.id !== undefined && creds.account !== undefined,
    save: () =>
      writes.add(async () => {
        if (!wiped) await state.set(credentialsKey, encode(creds))
      }),
    async wipe() {
      wiped = true
      await writes.add(() => state.delete(credentialsKey))
      for (const type of keyTypes) await index.clear(type)
      await wipeSentMessages(state)
    },
  }
  return credentials
}

/** Remembers which keys exist, so that all of them can be deleted. It may list keys that are gone. */
function createIndex(state: ExtensionState) {
  const known = new Map<KeyType, Promise<Set<string>>>()
  const indexKey = (type: KeyType): string => `keys:${type}`
  const load = async (type: KeyType): Promise<Set<string>> => {
    const ids = await state.get(indexKey(type))
    return new Set(Array.isArray(ids) ? ids.map(String) : [])
  }
  const idsOf = (type: KeyType): Promise<Set<string>> => {
    const ids = known.get(type) ?? load(type)
    known.set(type, ids)
    return ids
  }
  return {
    async add(type: KeyType, ids: readonly string[]): Promise<void> {
      if (ids.length === 0) return
      const listed = await idsOf(type)
      if (ids.every((id) => listed.has(id))) return
      for (const id of ids) listed.add(id)
      await state.set(indexKey(type), [...listed])
    },
    async clear(type: KeyType): Promise<void> {
      await Promise.all([...(await idsOf(type))].map((id) => state.delete(recordKey(type, id))))
      await state.delete(indexKey(type))
      known.delete(type)
    },
  }
}
