// The command `approvals`: lists the tool calls that wait for a person, shows one, and answers it.
import { defineCommand } from 'svc-gateway/plugin'

const id = { description: 'the id of the approval, from "approvals list"' } as const
const json = 'one JSON object, as in the API'

const list = defineCommand({
  name: 'approvals list',
  group: 'Approve or deny tool calls of agents.',
  description: 'List the tool calls that wait for a person, newest first.',
  options: {
    status: {
      value: '<status>',
      description: 'those with this status instead, or "all"',
      choices: ['waiting', 'approved', 'denied', 'expired', 'cancelled', 'all'],
    },
    run: { value: '<id>', description: 'only those of this run', completes: 'run' },
  },
  needs: ['control'],
  limit: 50,
  json: 'one JSON object per line, as in the API',
  examples: ['approvals list', 'approvals list --status denied'],
  run: async (input, context) => (await import('./approvals.ts')).listApprovals(input, context),
})

const show = defineCommand({
  name: 'approvals show',
  description: 'Show a tool call with all its arguments, and what became of it.',
  arguments: { id },
  needs: ['control'],
  json,
  examples: ['approvals show 01a1f8a8-ffca-74fa-bb31-38be33811f90'],
  run: async (input, context) => (await import('./approvals.ts')).showApproval(input, context),
})

const approve = defineCommand({
  name: 'approvals approve',
  description: 'Let a tool call be made as it is shown.',
  arguments: { id },
  options: { turn: { description: 'allow further such calls until the agent has answered' } },
  needs: ['control'],
  json,
  examples: ['approvals approve 01a1f8a8-ffca-74fa-bb31-38be33811f90'],
  run: async (input, context) =>
    (await import('./approvals.ts')).answerApproval({ ...input, verb: 'approve' }, context),
})

const deny = defineCommand({
  name: 'approvals deny',
  description: 'Deny a tool call.',
  arguments: { id },
  options: { reason: { value: '<text>', description: 'why; the agent reads it' } },
  needs: ['control'],
  json,
  examples: ['approvals deny 01a1f8a8-ffca-74fa-bb31-38be33811f90 --reason "too expensive"'],
  run: async (input, context) => (await import('./approvals.ts')).answerApproval({ ...input, verb: 'deny' }, context),
})

export default [list, show, approve, deny]
