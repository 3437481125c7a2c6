// The replies that Discord expects to interactions. Without one, it tells its user that the application failed.
import { jsonReply, type ServiceReply } from './verifier.ts'

/** The types of interactions, and the reply to each. */
const replies: Readonly<Record<number, object>> = {
  // A ping, with which Discord checks the URL: pong.
  1: { type: 1 },
  // A command: a message that only its user sees. A deferred reply would say "is thinking" until it fails.
  2: { type: 4, data: { content: 'Received.', flags: 64 } },
  // A button or a menu: no visible change.
  3: { type: 6 },
  // Text to complete: no suggestions.
  4: { type: 8, data: { choices: [] } },
  // A form: as for a command.
  5: { type: 4, data: { content: 'Received.', flags: 64 } },
}

type Payload = Readonly<Record<string, unknown>>

export const answerPing = ({ type }: Payload): ServiceReply | undefined => (type === 1 ? replyTo(1) : undefined)

export const acknowledgeInteraction = ({ type }: Payload): ServiceReply | undefined =>
  typeof type === 'number' ? replyTo(type) : undefined

function replyTo(type: number): ServiceReply | undefined {
  const reply = replies[type]
  return reply && jsonReply(reply)
}
