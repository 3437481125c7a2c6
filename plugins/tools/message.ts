// A tool that sends a message on a channel, in addition to the reply.
import { defineTool, defineToolset, InputError, type Static, Type } from 'svc-gateway/plugin'

const Text = (description: string) => Type.Optional(Type.String({ pattern: String.raw`\S`, description }))

const Args = Type.Object(
  {
    text: Type.Optional(
      Type.String({
        pattern: String.raw`\S`,
        maxLength: 100_000,
        description: 'The text of the message, in Markdown. Required without a file.',
      }),
    ),
    file: Type.Optional(
      Type.String({
        pattern: String.raw`\S`,
        maxLength: 4096,
        description: 'A file to send, relative to the workspace. Not every channel sends files.',
      }),
    ),
    channel: Text('The channel, or `last`. Default: the last route of this session, else that of the main session.'),
    to: Text('The recipient on that channel. Default: the last one there, else the configured one.'),
    accountId: Text('The account of the channel, if it has several.'),
    threadId: Text('The thread, if the channel has threads.'),
  },
  { additionalProperties: false },
)

const message = defineTool<Static<typeof Args>>({
  name: 'message',
  external: 'none',
  group: 'messaging',
  description:
    'Sends a message, or a file of the workspace, on a channel at once, in addition to your reply. ' +
    'Do not use it for the reply, which is delivered automatically.',
  args: Args,
  changes: 'adds',
  // The recipient of the reply learns nothing new, except what is in the file.
  effects: async (args, { isReplyRoute }) => [
    ...(args.file === undefined ? [] : (['reads-private'] as const)),
    ...((await isReplyRoute(args)) ? [] : (['sends'] as const)),
  ],
  async execute({ text = '', ...args }, { deliver }) {
    if (text === '' && args.file === undefined) throw new InputError('text is required without a file.')
    const { id, channel, to } = await deliver({ text, ...args })
    return { deliveryId: id, channel, to, status: 'pending' }
  },
})

export default defineToolset({ name: 'message', description: 'Messages on channels.', tools: [message] })
