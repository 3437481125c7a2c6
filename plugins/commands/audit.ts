// The command `audit`: lists who did what.
import { escapeInLine, parseTime } from 'svc-gateway/kit'
import { defineCommand } from 'svc-gateway/plugin'

/** One item of `GET /api/audit`. */
interface Entry {
  at: string
  actor: { kind: string; name: string; runId?: string }
  via: string
  address?: string
  action: string
  target?: string
  agentId?: string
  outcome: string
  reason?: string
}

const describeActor = ({ actor: { kind, name, runId } }: Entry): string =>
  escapeInLine(`${kind} ${name}${runId === undefined ? '' : ` in run ${runId}`}`)

export default defineCommand({
  name: 'audit',
  description: 'List who did what, the newest first.',
  options: {
    actor: { value: '<name>', description: 'only actions of this client, sender or agent' },
    action: { value: '<name>', description: 'only this action, such as run.cancel' },
    target: { value: '<id>', description: 'only actions on this record' },
    agent: { value: '<id>', description: 'only actions that concern this agent', completes: 'agent' },
    outcome: { value: '<outcome>', description: 'only this outcome', choices: ['done', 'refused', 'failed'] },
    since: {
      value: '<time>',
      description: 'only actions since a duration such as 2h, or a time such as 2026-11-20T08:00Z',
      parse: parseTime,
    },
  },
  needs: ['control'],
  json: 'one JSON object per line, as in the API',
  limit: 50,
  examples: ['audit --since 2h', 'audit --actor anna --outcome refused --json'],
  run: async ({ actor, action, target, agent, outcome, since, limit, json }, { control, terminal }) => {
    const entries = control.list<Entry>('/api/audit', { actor, action, target, agentId: agent, outcome, since })
    await terminal.printList(entries, {
      noun: 'actions',
      json,
      limit,
      columns: {
        TIME: ({ at }) => at,
        WHO: describeActor,
        FROM: ({ via, address }) => escapeInLine(address === undefined ? via : `${via} ${address}`),
        ACTION: (entry) => escapeInLine(entry.action),
        TARGET: (entry) => escapeInLine(entry.target ?? ''),
        OUTCOME: ({ outcome: result, reason }) => (reason === undefined ? result : `${result}: ${reason}`),
      },
    })
  },
})
