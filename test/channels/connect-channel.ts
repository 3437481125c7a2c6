// A connection of a channel to its double, for one test: what it receives is kept, and all is closed at the end.
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import type { ChannelContext, Connection, InboundMessage } from '../../core/plugin/plugin.ts'
import { createTestContext, type TestContext } from '../contracts/context.ts'

/** Members replace those of the context. */
interface Settings extends Partial<ChannelContext> {
  /** The context of an earlier connection, with its state. */
  context?: TestContext
  /** Called before a message is stored. A message is not stored if it throws. */
  beforeReceive?(message: InboundMessage): unknown
}

export async function openDouble<Double extends { close(): unknown }>(opening: Promise<Double>): Promise<Double> {
  const double = await opening
  onTestFinished(async () => void (await double.close()))
  return double
}

export async function connectChannel<Config>(
  channel: { connect(config: Config, context: ChannelContext): Promise<Connection> },
  config: Config,
  { context = createTestContext(), beforeReceive, ...members }: Settings = {},
) {
  const messages: InboundMessage[] = []
  const changes = new EventTarget()
  const lost = Promise.withResolvers<unknown>()
  const reasons: unknown[] = []
  const connection = await channel.connect(config, {
    ...context,
    accountId: 'default',
    async receive(message: InboundMessage) {
      await beforeReceive?.(message)
      messages.push(message)
      changes.dispatchEvent(new Event('message'))
      return 'accepted' as const
    },
    lost(reason: unknown) {
      reasons.push(reason)
      lost.resolve(reason)
    },
    ...members,
  })
  let closed: Promise<void> | undefined
  const close = () => (closed ??= connection.close())
  onTestFinished(close)
  return {
    connection: { ...connection, close },
    context,
    messages,
    /** Resolves when this many messages were received. */
    async received(count: number): Promise<InboundMessage[]> {
      while (messages.length < count) await once(changes, 'message')
      return messages
    },
    /** Resolves when the channel reports that its connection is lost. */
    lost: lost.promise,
    /** All such reports. */
    reasons,
  }
}
