// The methods that clients may call over the WebSocket. Those that HTTP also offers share its code and its results.
import type { Subject } from '../../tools/subject.ts'
import { InvokeBody, Routing } from '../../tools/schemas.ts'
import type { ToolRequest } from '../../tools/request.ts'
import { resolveSession, type SessionOwners } from '../../tools/session.ts'
import { type Static, Type } from '../../typebox.ts'
import { type Chat, ChatRequest } from './chat.ts'
import type { Caller } from './connection.ts'
import type { EndpointRequest, Endpoint } from '../endpoint.ts'
import { IdParams } from '../lists.ts'
import { type Method, method } from './rpc.ts'

interface MethodsDeps {
  chat: Chat
  invokeTool: ToolRequest
  agents: SessionOwners
  endpoints: readonly Endpoint[]
}

const TopicList = Type.Object({ topics: Type.Optional(Type.Array(Type.String(), { maxItems: 100 })) })

/** The fields of the HTTP body and of the routing headers. */
const InvokeParams = Type.Object({ ...InvokeBody.properties, ...Routing.properties })
type InvokeParams = Static<typeof InvokeParams>

export function createMethods({
  chat,
  invokeTool,
  agents,
  endpoints,
}: MethodsDeps): ReadonlyMap<string, Method<Caller>> {
  const subjectOf = ({ sessionKey, channel, accountId }: InvokeParams): Subject => ({
    caller: 'http',
    ...resolveSession(agents, sessionKey),
    channel: channel?.trim() || undefined,
    accountId: accountId?.trim() || undefined,
  })
  return new Map<string, Method<Caller>>([
    [
      'subscribe',
      method(TopicList, ({ topics }, { subscriptions }: Caller) => ({ topics: subscriptions.add(topics) })),
    ],
    [
      'unsubscribe',
      method(TopicList, ({ topics }, { subscriptions }: Caller) => ({ topics: subscriptions.remove(topics) })),
    ],
    [
      'chat.send',
      method(ChatRequest, (request, { notify }: Caller) => chat(request, (delta) => notify('chat.delta', delta))),
    ],
    ['tools.invoke', method(InvokeParams, (body) => invokeTool(body, subjectOf(body)))],
    ['runs.get', methodFromEndpoint(endpoints, 'GET /runs/:id')],
    ['runs.cancel', methodFromEndpoint(endpoints, 'POST /api/runs/:id/cancel')],
  ])
}

/** Creates a method from an endpoint of the control API that takes only an id. */
function methodFromEndpoint(endpoints: readonly Endpoint[], name: string): Method<Caller> {
  const endpoint = endpoints.find(({ method, path }) => `${method} ${path}` === name)
  if (!endpoint) throw new Error(`The control API has no ${name}.`)
  return method(IdParams, (params) => endpoint.handle({ params } as EndpointRequest))
}
