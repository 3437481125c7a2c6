// POST /tools/invoke runs a tool, GET /tools lists the available tools, POST /tools/explain explains the policy.
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { readBody } from '../http/body.ts'
import { failures } from '../http/failure.ts'
import { setRouteGroup } from '../http/route-list.ts'
import type { ToolRegistry } from './registry.ts'
import type { Invoke } from './invoke.ts'
import { ExplainBody, ExplainReply, InvokeBody, InvokeReply, ListQuery, ListReply, RoutingHeaders } from './schemas.ts'
import type { Policy } from './policy.ts'
import { createToolRequest } from './request.ts'
import type { RuleOfTwo } from './rule-of-two.ts'
import { resolveSession, type SessionOwners } from './session.ts'
import type { Subject } from './subject.ts'

export interface ToolRoutesDeps {
  auth: onRequestHookHandler
  registry: Pick<ToolRegistry, 'find'>
  policy: Policy
  ruleOfTwo: Pick<RuleOfTwo, 'effectsOf' | 'explain'>
  invoke: Invoke
  agents: SessionOwners
}

const maxBodyBytes = 2 * 1024 * 1024

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
  { auth, registry, policy, ruleOfTwo, invoke, agents }: ToolRoutesDeps,
): void {
  const run = createToolRequest({ registry, invoke })
  void app.register(
    async (routeGroup) => {
      setRouteGroup(routeGroup, 'tools')
      routeGroup.addHook('onRequest', auth)
      routeGroup.addHook('preValidation', readBody({ maxBytes: maxBodyBytes, accept: 'object' }))

      routeGroup.post<{ Body: InvokeBody }>('/invoke', { schema: schemas.invoke }, (request) =>
        run(request.body, subjectOf(request, request.body)),
      )

      routeGroup.get<{ Querystring: ListQuery }>('', { schema: schemas.list }, (request) => {
        const entries = policy.listed(subjectOf(request, request.query))
        return {
          items: entries.map((entry) => {
            const { name, group, description, args } = entry.tool
            return { name, group, description, args, effects: ruleOfTwo.effectsOf(entry) }
          }),
        }
      })

      routeGroup.post<{ Body: ExplainBody }>('/explain', { schema: schemas.explain }, (request) => {
        const tool = request.body.tool.trim()
        const subject = subjectOf(request, request.body)
        return request.body.origin === 'hook'
          ? explainForHook(tool, subject)
          : { tool, ...policy.explain(subject, tool) }
      })
    },
    { prefix: '/tools' },
  )

  /** Explains the policy for a run that a webhook would start in that session now. */
  async function explainForHook(tool: string, client: Subject): Promise<ExplainReply> {
    const subject: Subject = { ...client, caller: 'agent', fromHook: true }
    const { allowed, layers } = policy.explain(subject, tool)
    const entry = registry.find(tool)
    if (!entry) return { tool, allowed, layers }
    const verdict = await ruleOfTwo.explain(entry, subject)
    return { tool, allowed: allowed && verdict.verdict !== 'deny', layers: [...layers, verdict] }
  }

  function subjectOf({ headers }: FastifyRequest, { sessionKey }: { sessionKey?: string }): Subject {
    const session = resolveSession(agents, sessionKey)
    return {
      caller: 'http',
      ...session,
      channel: readHeader(headers['x-svc-message-channel']),
      accountId: readHeader(headers['x-svc-account-id']),
    }
  }
}

/** Undefined if the header is missing or blank. */
const readHeader = (header: string | string[] | undefined): string | undefined =>
  (typeof header === 'string' && header.trim()) || undefined
