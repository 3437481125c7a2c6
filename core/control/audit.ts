// The endpoint that lists the entries of the audit log.
import { actorKinds, auditOutcomes, auditVias, type Store, type StoredAuditEntry } from '../store/store.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { iso, pageOf, pageQuery, pageRequest, parseSince, Time, viewPage } from './lists.ts'

interface AuditDeps {
  store: Pick<Store, 'listAudit'>
}

export const auditEndpoints = ({ store }: AuditDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/audit',
    access: { needs: 'read', scope: 'agents' },
    schema: {
      summary: 'Lists who did what, newest first.',
      querystring: AuditQuery,
      response: { 200: pageOf(Entry) },
    },
    handle: async ({ query, principal }) => {
      const { actor, action, target, agentId, outcome, since } = query
      const filter = { actor, action, target, agentId, outcome, since: parseSince(since), agents: principal.agents }
      return viewPage(await store.listAudit(filter, pageRequest(query)), view)
    },
  }),
]

const view = ({ seq, at, ...entry }: StoredAuditEntry) => ({ id: String(seq), at: iso(at), ...entry })

const AuditQuery = Type.Object({
  ...pageQuery,
  actor: Type.Optional(Type.String({ description: 'The name of the client, the sender or the agent.' })),
  action: Type.Optional(Type.String({ description: 'What was done, such as `run.cancel`.' })),
  target: Type.Optional(Type.String({ description: 'The id of the record that it concerns.' })),
  agentId: Type.Optional(Type.String()),
  outcome: Type.Optional(Type.Enum([...auditOutcomes])),
  since: Type.Optional(Type.String({ description: 'Only entries at or after this time, in ISO 8601.' })),
})

const Entry = Type.Object({
  id: Type.String(),
  at: Time(),
  actor: Type.Object({
    kind: Type.Enum([...actorKinds], {
      description:
        '`client`: a credential, `gateway` being that of the gateway itself. `sender`: a person on a channel. `local`: ' +
        'somebody with access to the machine.',
    }),
    name: Type.String({ description: 'The name of the client, the id of the sender, or the id of the agent.' }),
    runId: Type.Optional(Type.String({ description: 'The run in which an agent did it.' })),
  }),
  via: Type.Enum([...auditVias], { description: 'How the request reached the gateway.' }),
  address: Type.Optional(Type.String({ description: 'The network address of a client, or the account of a channel.' })),
  action: Type.String({ description: 'What was done: a noun and a verb, or the route of a refused request.' }),
  target: Type.Optional(Type.String({ description: 'The id of the record that it concerns.' })),
  agentId: Type.Optional(Type.String({ description: 'The agent that it concerns.' })),
  outcome: Type.Enum([...auditOutcomes], {
    description:
      '`refused`: the role of the client or the policy did not allow it. The same refusal or failure of a client is ' +
      'recorded once a minute.',
  }),
  reason: Type.Optional(Type.String({ description: 'The type of the error, unless it was done.' })),
})
