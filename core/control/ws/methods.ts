// The methods that clients may call over the WebSocket. Those that HTTP also offers share its code and its results.
import type { Subject } from '../../tools/subject.ts'
import type { Access } from '../../http/access.ts'
import { InvokeBody, Routing } from '../../tools/schemas.ts'
import { clientOf, ownersFor } from '../../tools/reach.ts'
import type { ToolRequest } from '../../tools/request.ts'
import { toolAccess } from '../../tools/routes.ts'
import { resolveSession, type SessionOwners } from '../../tools/session.ts'
import { type Static, type TSchema, Type } from '../../typebox.ts'
import { type Chat, ChatRequest } from './chat.ts'
import type { Caller } from './connection.ts'
import type { CallEndpoint } from '../call-endpoint.ts'
import type { Endpoint } from '../endpoint.ts'
import { IdParams } from '../lists.ts'
import { type Method, method } from './rpc.ts'

interface MethodsDeps {
  chat: Chat
  invokeTool: ToolRequest
  agents: SessionOwners
  endpoints: readonly Endpoint[]
  call: CallEndpoint
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
  call,
}: MethodsDeps): ReadonlyMap<string, GuardedMethod> {
  const subjectOf = ({ sessionKey, channel, accountId }: InvokeParams, { principal }: Caller): Subject => ({
    caller: 'http',
    ...resolveSession(ownersFor(agents, principal), sessionKey),
    client: clientOf(principal),
    channel: channel?.trim() || undefined,
    accountId: accountId?.trim() || undefined,
  })
  return new Map<string, GuardedMethod>([
    [
      'subscribe',
      guarded(topicAccess, TopicList, ({ topics }, { subscriptions }) => ({ topics: subscriptions.add(topics) })),
    ],
    [
      'unsubscribe',
      guarded(topicAccess, TopicList, ({ topics }, { subscriptions }) => ({ topics: subscriptions.remove(topics) })),
    ],
    [
      'chat.send',
      guarded(chatAccess, ChatRequest, (request, caller) =>
        chat(request, caller, (delta) => caller.notify('chat.delta', delta)),
      ),
    ],
    [
      'tools.invoke',
      guarded(toolAccess.invoke, InvokeParams, (body, caller) =>
        invokeTool(body, subjectOf(body, caller), {
          principal: caller.principal,
          via: 'websocket',
          address: caller.source.address,
        }),
      ),
    ],
    ['runs.get', methodFromEndpoint('GET /runs/:id')],
    ['runs.cancel', methodFromEndpoint('POST /api/runs/:id/cancel')],
  ])

  /** Creates a method from an endpoint of the control API that takes only an id. */
  function methodFromEndpoint(name: string): GuardedMethod {
    const endpoint = endpoints.find(({ method: verb, path }) => `${verb} ${path}` === name)
    if (!endpoint) throw new Error(`The control API has no ${name}.`)
    return guarded(endpoint.access, IdParams, (params, { principal, source }) =>
      call(endpoint, { params }, { principal, via: 'websocket', address: source.address }),
    )
  }
}

/** A method must declare what the caller needs. */
type GuardedMethod = Method<Caller> & { access: Access }

const guarded = <Params extends TSchema>(
  access: Access,
  params: Params,
  run: (params: Static<Params>, caller: Caller) => unknown,
): GuardedMethod => ({ ...method(params, run), access })

const chatAccess: Access = { needs: 'operate', scope: 'agents', action: 'chat.send' }
/** Each topic checks for itself what the client needs. */
const topicAccess: Access = { needs: 'read', scope: 'agents' }
