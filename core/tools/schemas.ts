// The schemas of requests and responses of the tool routes.
import { OptionalText, Text } from '../field-schemas.ts'
import type { Tool } from '../plugin/plugin.ts'
import { type JsonSchema, type Static, Type } from '../typebox.ts'

const SessionKey = OptionalText('The session of the call. Default, and `main`: the main session of the default agent.')

export const InvokeBody = Type.Object({
  tool: Text('Name of the tool.'),
  action: OptionalText('Becomes `args.action` if the tool has such an argument and `args` does not set it.'),
  args: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({ type: 'object', description: 'Arguments of the tool. Default: none.' }),
  ),
  sessionKey: SessionKey,
  dryRun: Type.Optional(Type.Unknown({ description: 'Reserved; it is ignored, and the tool runs.' })),
})
export type InvokeBody = Static<typeof InvokeBody>

/** The bodies of calls of these tools, for the OpenAPI document. Undefined: there are none. */
export function describeCalls(tools: readonly Pick<Tool, 'name' | 'description' | 'args'>[]): JsonSchema | undefined {
  if (tools.length === 0) return undefined
  return {
    type: 'object',
    description: 'The call of a tool that you may use at the moment.',
    anyOf: [
      ...tools.map(({ name, description, args }) => ({
        type: 'object',
        title: name,
        description,
        properties: { ...InvokeBody.properties, tool: { const: name }, args },
        required: ['tool'],
      })),
      {
        ...InvokeBody,
        title: 'A tool of another session',
        description: '`GET /tools?sessionKey=…` lists the tools of a session.',
        required: ['tool', 'sessionKey'],
      },
    ],
  }
}

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
      group: Type.Optional(Type.String({ description: 'Its group, which policies refer to as `group:<group>`.' })),
      description: Type.String(),
      args: Type.Unsafe<object>({ type: 'object', description: 'JSON Schema of its arguments.' }),
      effects: Type.Unsafe<readonly string[] | 'by-call'>({
        anyOf: [{ type: 'array', items: { enum: ['reads-private', 'sends'] } }, { const: 'by-call' }],
        description: 'Its effects, for the rule of two. `by-call`: they depend on the arguments.',
      }),
      verdict: Type.Enum(['allow', 'ask', 'deny'], {
        description: 'What the policy says. `ask`: a person must approve each call.',
      }),
      rule: Type.Optional(Type.String({ description: 'The rule that decided. Absent: no rule restricts the tool.' })),
    }),
  ),
})

export const ExplainBody = Type.Object({
  tool: Text('Name of the tool.'),
  sessionKey: SessionKey,
  origin: Type.Optional(
    Type.Enum(['hook', 'chat', 'heartbeat'], {
      description:
        'Explains the policy for a turn in that session that a webhook, a person or the heartbeat starts, with the texts ' +
        'that the turn would see. Default: for a call over HTTP.',
    }),
  ),
})
export type ExplainBody = Static<typeof ExplainBody>

export const ExplainReply = Type.Object({
  tool: Type.String(),
  allowed: Type.Boolean({ description: 'False if the verdict is `deny`.' }),
  verdict: Type.Enum(['allow', 'ask', 'deny'], { description: '`ask`: a person must approve each call.' }),
  rule: Type.Optional(Type.String({ description: 'The rule that decided. Absent: no rule restricts the tool.' })),
  layers: Type.Array(
    Type.Object({
      layer: Type.String(),
      verdict: Type.Enum(['allow', 'ask', 'deny', 'none']),
      rule: Type.Optional(Type.String({ description: 'The rule that decided.' })),
    }),
    { description: 'The verdict of each policy layer, in order.' },
  ),
  explanation: Type.Optional(
    Type.String({
      description: 'With `origin`: which texts restrict the turn, and how to lift that. Absent: none do.',
    }),
  ),
})
export type ExplainReply = Static<typeof ExplainReply>

/** The channel and account for which the policy is evaluated. */
export const Routing = Type.Object({
  channel: Type.Optional(Type.String({ description: 'Channel to which the call relates, such as `slack`.' })),
  accountId: Type.Optional(Type.String({ description: 'Account of that channel, if it has several.' })),
})

/** The same, as headers. */
export const RoutingHeaders = Type.Object({
  'x-svc-message-channel': Routing.properties.channel,
  'x-svc-account-id': Routing.properties.accountId,
})

/** The headers of the tool routes, and the session. */
export const McpHeaders = Type.Object({
  'x-svc-session-key': OptionalText(
    'The session whose tools are offered. Default, and `main`: the main session of the default agent.',
  ),
  ...RoutingHeaders.properties,
})

export const McpMessage = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  description: 'One message of the Model Context Protocol, as JSON-RPC 2.0.',
})
