// An account that is linked to the double of WhatsApp, and the ways in which tests connect it.
import { onTestFinished } from 'vitest'
import whatsapp from '../../channels/whatsapp/index.ts'
import type { ChannelContext, Connection, ExtensionState, InboundMessage, Json } from '../../core/plugin/plugin.ts'
import { createTestContext } from '../contracts/context.ts'
import { closeAtEnd } from '../share.ts'
import type { DeviceKeys } from './whatsapp-person.ts'
import { openWhatsapp, type WhatsappServer } from './whatsapp.ts'

/** Somebody whom the account talks to. */
export const to = '+15551112222'
export const group = '120363000000000001@g.us'

export interface LinkedAccount {
  records: ReadonlyMap<string, Json>
  device: DeviceKeys
}

/** Links an account and connects it once, so that its keys are uploaded. It is then copied for each test. */
export async function linkAccount(): Promise<LinkedAccount> {
  const server = await openWhatsapp()
  const records = new Map<string, Json>()
  const state = createState(records)
  for await (const step of login(server, state)) if ('qr' in step) server.scan(step.qr)
  const connection = await whatsapp.connect(server.config, contextWith(state))
  await connection.close()
  const device = server.device()!
  await server.close()
  return { records, device }
}

export const login = (server: WhatsappServer, state: ExtensionState, signal = new AbortController().signal) =>
  whatsapp.login!(server.config, { ...createTestContext(), state, signal, accountId: 'default' })

export const createState = (records: Map<string, Json>): ExtensionState => ({
  get: async (key) => records.get(key),
  set: async (key, value) => void records.set(key, structuredClone(value)),
  delete: async (key) => void records.delete(key),
})

export const contextWith = (state: ExtensionState): ChannelContext => ({
  ...createTestContext(),
  state,
  accountId: 'default',
  receive: async () => 'accepted',
  lost: () => undefined,
})

/** A server that knows the device of the account, and a copy of the account's state. */
export async function openLinked(linked: LinkedAccount) {
  const server = await openWhatsapp(linked.device)
  closeAtEnd(() => server.close())
  const records = new Map(linked.records)
  return { server, records, state: createState(records) }
}

export async function connect(server: WhatsappServer, state: ExtensionState, receive?: ChannelContext['receive']) {
  const inbox: InboundMessage[] = []
  const lost = Promise.withResolvers<string | Error>()
  const store: ChannelContext['receive'] = async (message) => {
    inbox.push(message)
    return 'accepted'
  }
  const context = { ...createTestContext(), state, accountId: 'default', lost: lost.resolve }
  const connection = await whatsapp.connect(server.config, { ...context, receive: receive ?? store })
  onTestFinished(() => connection.close())
  /** Resolves when every message has a receipt. */
  const settled = () => server.until(() => server.pending().length === 0)
  return { connection, inbox, lost: lost.promise, logged: context.logged, settled }
}

export const send = (connection: Connection, text: string, key = text) => connection.send({ key, to, text })
