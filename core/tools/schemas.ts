// What the tools' route group takes and answers, as schemas.
import { notBlank, type Static, Type } from '../typebox.ts'

const Text = (description: string) => Type.String({ pattern: notBlank, description })

const SessionKey = Type.Optional(
  Text('The session that the call is for; left out or `main`: the main session of the default agent.'),
)

export const InvokeBody = Type.Object({
  tool: Text('Name of the tool.'),
  action: Type.Optional(Text('Becomes `args.action` where the tool knows such an argument and `args` lacks it.')),
  args: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({ type: 'object', description: 'Arguments of the tool; left out: none.' }),
  ),
  sessionKey: SessionKey,
  dryRun: Type.Optional(Type.Unknown({ description: 'Reserved; it is ignored, and the tool runs.' })),
})
export type InvokeBody = Static<typeof InvokeBody>

export const InvokeReply = Type.Object({
  ok: Type.Literal(true),
  result: Type.Unknown({ description: "The tool's result; null when it has none." }),
})
export type InvokeReply = Static<typeof InvokeReply>

export const ListQuery = Type.Object({ sessionKey: SessionKey })
export type ListQuery = Static<typeof ListQuery>

export const ListReply = Type.Object({
  items: Type.Array(
    Type.Object({
      name: Type.String(),
      group: Type.Optional(Type.String({ description: 'Its group, for policies: `group:<group>`.' })),
      description: Type.String(),
      args: Type.Unsafe<object>({ type: 'object', description: 'JSON Schema of its arguments.' }),
      effects: Type.Unsafe<readonly string[] | 'by-call'>({
        anyOf: [{ type: 'array', items: { enum: ['reads-private', 'sends'] } }, { const: 'by-call' }],
        description: 'What it does, for the rule of two; `by-call`: it depends on the arguments.',
      }),
    }),
  ),
})

export const ExplainBody = Type.Object({
  tool: Text('Name of the tool.'),
  sessionKey: SessionKey,
  origin: Type.Optional(
    Type.Enum(['hook'], {
      description: '`hook`: answers for a run that a webhook starts in that session; left out: for a call over HTTP.',
    }),
  ),
})
export type ExplainBody = Static<typeof ExplainBody>

export const ExplainReply = Type.Object({
  tool: Type.String(),
  allowed: Type.Boolean(),
  layers: Type.Array(
    Type.Object({
      layer: Type.String(),
      verdict: Type.Enum(['allow', 'deny', 'none']),
      rule: Type.Optional(Type.String({ description: 'The name in the list that decided.' })),
    }),
    { description: 'What each layer of the policy says, in order.' },
  ),
})
export type ExplainReply = Static<typeof ExplainReply>

/** On which channel and account a call is to be judged. */
export const Routing = Type.Object({
  channel: Type.Optional(Type.String({ description: 'Channel that the call has to do with, such as `slack`.' })),
  accountId: Type.Optional(Type.String({ description: 'Account of that channel, where it has several.' })),
})

/** The same, as headers. */
export const RoutingHeaders = Type.Object({
  'x-svc-message-channel': Routing.properties.channel,
  'x-svc-account-id': Routing.properties.accountId,
})

/** As for the tools' route group, and the session beside them. */
export const McpHeaders = Type.Object({
  'x-svc-session-key': Type.Optional(
    Text('The session whose tools are offered; left out or `main`: the main session of the default agent.'),
  ),
  ...RoutingHeaders.properties,
})

export const McpMessage = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  description: 'One message of the Model Context Protocol, as JSON-RPC 2.0.',
})
