// A tool that says something on a channel, beside the reply.
import { defineTool, defineToolset, type Static, Type } from 'svc-gateway/plugin'

const Text = (description: string) => Type.Optional(Type.String({ pattern: String.raw`\S`, description }))

const Args = Type.Object(
  {
    text: Type.String({ pattern: String.raw`\S`, maxLength: 100_000, description: 'What to say.' }),
    channel: Text(
      'The channel, or `last`. Left out: where this session last heard from, else where the main session did.',
    ),
    to: Text('The recipient on that channel. Left out: the last one there, else the one of the configuration.'),
    accountId: Text('The account of the channel, where it has several.'),
    threadId: Text('The thread, where the channel has threads.'),
  },
  { additionalProperties: false },
)

const message = defineTool<Static<typeof Args>>({
  name: 'message',
  group: 'messaging',
  description:
    'Sends a message on a channel, at once and beside your reply. Not for the reply itself: that is delivered by itself.',
  args: Args,
  // Whoever gets the reply gets nothing new.
  effects: async (args, { isReplyRoute }) => ((await isReplyRoute(args)) ? [] : ['sends']),
  async execute(args, { deliver }) {
    const { id, channel, to } = await deliver(args)
    return { deliveryId: id, channel, to, status: 'pending' }
  },
})

export default defineToolset({ name: 'message', description: 'Says something on a channel.', tools: [message] })
