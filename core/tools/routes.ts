// POST /tools/invoke runs a tool, GET /tools lists the available tools, POST /tools/explain explains the policy.
import type { FastifyInstance } from 'fastify'
import { readBody } from '../http/body.ts'
import { disconnectSignal } from '../http/disconnect.ts'
import { failures } from '../http/failure.ts'
import { type Access, guardRoutes, type RouteGuard } from '../http/access.ts'
import { type DocumentReader, setRouteGroup } from '../http/route-list.ts'
import { joinProvenance, noProvenance, type Provenance } from '../store/provenance.ts'
import type { ToolRegistry } from './registry.ts'
import {
  describeCalls,
  ExplainBody,
  ExplainReply,
  InvokeBody,
  InvokeReply,
  ListQuery,
  ListReply,
  RoutingHeaders,
} from './schemas.ts'
import { decide, type Verdict } from './evaluate.ts'
import type { ExplainNarrowing } from './explain-narrowing.ts'
import { describedBy } from './external-texts.ts'
import { narrow } from './narrow.ts'
import type { Policy } from './policy.ts'
import type { ToolRequest } from './request.ts'
import type { RuleOfTwo } from './rule-of-two.ts'
import { subjectOf } from './request-subject.ts'
import type { SessionOwners } from './session.ts'
import type { Subject } from './subject.ts'

export interface ToolRoutesDeps {
  guard: RouteGuard
  registry: Pick<ToolRegistry, 'find'>
  policy: Policy
  ruleOfTwo: Pick<RuleOfTwo, 'effectsOf' | 'explain'>
  invokeTool: ToolRequest
  agents: SessionOwners
  /** Of the messages that the next turn of a session would see. */
  readVisible(sessionKey: string): Promise<Provenance>
  narrowsChats: boolean
  explainNarrowing: ExplainNarrowing
}

const maxBodyBytes = 2 * 1024 * 1024

/** What the caller of a tool needs, over any protocol. */
export const toolAccess = {
  list: { needs: 'read', scope: 'agents' },
  invoke: { needs: 'operate', scope: 'agents', action: 'tool.invoke' },
} satisfies Record<string, Access>

const schemas = {
  invoke: {
    summary: 'Runs one tool.',
    body: InvokeBody,
    headers: RoutingHeaders,
    response: { 200: InvokeReply, ...failures(404, 500, 504) },
  },
  list: {
    summary: 'Lists the available tools.',
    querystring: ListQuery,
    headers: RoutingHeaders,
    response: { 200: ListReply },
  },
  explain: {
    summary: 'Explains why a tool may be used or not.',
    body: ExplainBody,
    headers: RoutingHeaders,
    response: { 200: ExplainReply },
  },
}

export function registerTools(
  app: FastifyInstance,
  {
    guard,
    registry,
    policy,
    ruleOfTwo,
    invokeTool,
    agents,
    readVisible,
    narrowsChats,
    explainNarrowing,
  }: ToolRoutesDeps,
): void {
  void app.register(
    async (routeGroup) => {
      setRouteGroup(routeGroup, 'tools')
      guardRoutes(routeGroup, guard)
      routeGroup.addHook('preValidation', readBody({ maxBytes: maxBodyBytes, accept: 'object' }))

      const [list, invoke] = [{ access: toolAccess.list }, { access: toolAccess.invoke }]
      routeGroup.post<{ Body: InvokeBody }>(
        '/invoke',
        { schema: { ...schemas.invoke, readsBody: describeBody }, config: invoke },
        async (request, reply) => {
          const { body, principal, client } = request
          const signal = disconnectSignal(reply)
          try {
            const caller = { principal, via: 'http', address: client.address, signal } as const
            return await invokeTool(body, subjectOf(request, { agents, sessionKey: body.sessionKey }), caller)
          } catch (error) {
            if (!signal.aborted) throw error
            // Nobody is there to read a reply.
            request.raw.socket.destroy()
            return reply.hijack()
          }
        },
      )

      routeGroup.get<{ Querystring: ListQuery }>('', { schema: schemas.list, config: list }, (request) => {
        const subject = subjectOf(request, { agents, sessionKey: request.query.sessionKey })
        return {
          items: policy.listed(subject).map((entry) => {
            const { name, group, description, args } = entry.tool
            const { verdict, rule } = policy.judge(subject, name)
            return { name, group, description, args, effects: ruleOfTwo.effectsOf(entry), verdict, rule }
          }),
        }
      })

      routeGroup.post<{ Body: ExplainBody }>('/explain', { schema: schemas.explain, config: list }, (request) => {
        const tool = request.body.tool.trim()
        const subject = subjectOf(request, { agents, sessionKey: request.body.sessionKey })
        const { origin } = request.body
        return origin ? explainTurn(tool, subject, origin) : { tool, ...policy.explain(subject, tool) }
      })
    },
    { prefix: '/tools' },
  )

  /** The tools that the reader of the document may call. */
  function describeBody(reader: DocumentReader) {
    const subject = subjectOf(reader, { agents, sessionKey: undefined })
    return describeCalls(policy.listed(subject).map(({ tool }) => tool))
  }

  /** Explains the policy for a turn that would start in that session now. */
  async function explainTurn(tool: string, client: Subject, origin: TurnOrigin): Promise<ExplainReply> {
    const isChat = origin === 'chat'
    const starter: Subject = {
      ...client,
      caller: 'agent',
      ...(!isChat && { client: undefined }),
      fromHook: origin === 'hook',
    }
    const read = await readVisible(client.sessionKey)
    const described = describedBy(policy, starter)
    const visible = joinProvenance(read, described, { ...noProvenance, isPrivate: isChat })
    const subject = narrow({
      starter,
      visible,
      scope: '',
      mode: isChat ? 'ask' : 'deny',
      narrows: narrowsChats || !isChat,
    })
    const decision = policy.explain(subject, tool)
    const entry = registry.find(tool)
    if (!entry) return { tool, ...decision }
    const { isNarrowed, verdict, rule } = policy.judge(subject, tool)
    const narrowed: Verdict = isNarrowed ? { layer: 'texts', verdict, rule } : { layer: 'texts', verdict: 'none' }
    const used = { readsPrivate: visible.isPrivate, sends: false }
    const last = subject.scopes ? [narrowed, ruleOfTwo.explain(entry, subject, used)] : [narrowed]
    const texts = { outside: visible.outside, authors: subject.narrowing?.authors ?? [] }
    const kind = origin === 'hook' ? 'other' : origin
    const explanation = explainNarrowing({ agentId: client.agentId, starter: kind, texts })
    return { tool, ...decide([...decision.layers, ...last]), explanation }
  }
}

type TurnOrigin = NonNullable<ExplainBody['origin']>
