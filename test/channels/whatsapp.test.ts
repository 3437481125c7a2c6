// WhatsApp as a linked device: the channel contract, linking, encryption, reconnecting, and what must never be printed.
import { describe, expect, it, onTestFinished } from 'vitest'
import whatsapp from '../../channels/whatsapp/index.ts'
import type { ChannelContext, Connection, ExtensionState, InboundMessage } from '../../core/plugin.ts'
import { createTestContext } from '../contracts/context.ts'
import { openWhatsapp, type WhatsappServer } from '../doubles/whatsapp.ts'

const to = '+15551112222'

/** Links the account as a person does, by scanning the code. */
async function link(server: WhatsappServer, state: ExtensionState): Promise<void> {
  for await (const step of whatsapp.login!(server.config, { ...createTestContext(), state, accountId: 'default' }))
    if ('qr' in step) server.scan(step.qr)
}

async function openLinked() {
  const server = await openWhatsapp()
  onTestFinished(() => server.close())
  const { state } = createTestContext()
  await link(server, state)
  return { server, state }
}

type Receive = ChannelContext['receive']

async function connect(server: WhatsappServer, state: ExtensionState, receive?: Receive) {
  const inbox: InboundMessage[] = []
  const lost = Promise.withResolvers<string | Error>()
  const context = createTestContext()
  const connection = await whatsapp.connect(server.config, {
    ...context,
    state,
    accountId: 'default',
    lost: lost.resolve,
    receive:
      receive ??
      (async (message) => {
        inbox.push(message)
        return 'accepted'
      }),
  })
  onTestFinished(() => connection.close())
  return { connection, inbox, lost: lost.promise, logged: context.logged }
}

const send = (connection: Connection, text: string, key = text) => connection.send({ key, to, text })

describe('WhatsApp as a linked device', () => {
  it('links, sends and receives', async () => {
    const { server, state } = await openLinked()
    const { connection, inbox } = await connect(server, state)
    expect(await send(connection, 'hello')).toMatchObject({ outcome: 'sent' })
    expect(server.received).toMatchObject([{ to, text: 'hello' }])
    const id = await server.say('hi there')
    await server.until(() => server.pending().length === 0)
    expect(inbox).toEqual([{ id, from: { id: to, name: 'Alice' }, to, text: 'hi there' }])
  })
})
