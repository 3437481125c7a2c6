// A tool that sends a message on a channel, in addition to the reply.
import { defineTool, defineToolset, type Static, Type } from 'svc-gateway/plugin'

const Text = (description: string) => Type.Optional(Type.String({ pattern: String.raw`\S`, description }))

const Args = Type.Object(
  {
    text: Type.String({ pattern: String.raw`\S`, maxLength: 100_000, description: 'The text of the message.' }),
    channel: Text('The channel, or `last`. Default: the last route of this session, else that of the main session.'),
    to: Text('The recipient on that channel. Default: the last one there, else the configured one.'),
    accountId: Text('The account of the channel, if it has several.'),
    threadId: Text('The thread, if the channel has threads.'),
  },
  { additionalProperties: false },
)

const message = defineTool<Static<typeof Args>>({
  name: 'message',
  group: 'messaging',
  description:
    'Sends a message on a channel at once, in addition to your reply. ' +
    'Do not use it for the reply, which is delivered automatically.',
  args: Args,
  // The recipient of the reply learns nothing new.
  effects: async (args, { isReplyRoute }) => ((await isReplyRoute(args)) ? [] : ['sends']),
  async execute(args, { deliver }) {
    const { id, channel, to } = await deliver(args)
    return { deliveryId: id, channel, to, status: 'pending' }
  },
})

export default defineToolset({ name: 'message', description: 'Messages on channels.', tools: [message] })
