// The scheme of Discord's interactions, with the replies that Discord expects. Without one, it tells its user that the
// application failed.
import { defineScheme } from 'svc-gateway/plugin'

export const scheme = defineScheme({
  name: 'discord',
  description: 'Interactions of a Discord application.',
  secret: 'the public key of the application: 64 hexadecimal digits',
  signatures: [
    {
      header: 'x-signature-ed25519',
      algorithm: 'ed25519',
      signed: '{timestamp}{body}',
      secretEncoding: 'hex',
      timestamp: { header: 'x-signature-timestamp' },
    },
  ],
  answerHandshake: ({ type }) => (type === 1 ? replies[1] : undefined),
  acknowledge: ({ type }) => (typeof type === 'number' ? replies[type] : undefined),
})

/** By the type of the interaction. */
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
