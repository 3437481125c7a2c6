// The command `runs`: lists runs, shows one, cancels one, and retries a failed one.
import { defineCommand } from 'svc-gateway/plugin'

/** As in the control API. */
const statuses = ['queued', 'running', 'waiting', 'succeeded', 'failed', 'timed_out', 'cancelled'] as const
const id = { description: 'the id of the run', completes: 'run' } as const
const json = 'one JSON object, as in the API'

const list = defineCommand({
  name: 'runs list',
  group: 'List, show, cancel and retry runs.',
  description: 'List runs, newest first.',
  options: {
    status: { value: '<status>', description: 'only runs with this status', choices: statuses },
    kind: {
      value: '<kind>',
      description: 'only runs that this started',
      choices: ['hook', 'heartbeat', 'channel', 'subagent', 'schedule', 'chat'],
    },
    hook: { value: '<name>', description: 'only runs of this hook', completes: 'hook' },
    agent: { value: '<id>', description: 'only runs of this agent', completes: 'agent' },
    session: { value: '<key>', description: 'only runs of this session, by its full key', completes: 'session' },
  },
  needs: ['control'],
  limit: 50,
  json: 'one JSON object per line, as in the API',
  examples: ['runs list --status failed --hook deploys', 'runs list --json | jq .reply'],
  run: async (input, context) => (await import('./runs.ts')).listRuns(input, context),
})

const show = defineCommand({
  name: 'runs show',
  description: 'Show a run: what it did step by step, its reply, its error and its deliveries.',
  arguments: { id },
  options: { steps: { description: 'print the arguments, results and texts of its steps, too' } },
  needs: ['control'],
  json: 'one JSON object, as in the API, with its steps',
  examples: [
    'runs show 01a1f8a8-ffca-74fa-bb31-38be33811f90',
    'runs show 01a1f8a8-ffca-74fa-bb31-38be33811f90 --steps',
  ],
  run: async (input, context) => (await import('./runs.ts')).showRun(input, context),
})

const cancel = defineCommand({
  name: 'runs cancel',
  description: 'Cancel a run that is queued, runs, or waits for an approval.',
  arguments: { id },
  needs: ['control'],
  json,
  examples: ['runs cancel 01a1f8a8-ffca-74fa-bb31-38be33811f90'],
  run: async (input, context) => (await import('./runs.ts')).cancelRun(input, context),
})

const retry = defineCommand({
  name: 'runs retry',
  description: 'Do a run that failed or timed out once more.',
  arguments: { id },
  needs: ['control'],
  json,
  examples: ['runs retry 01a1f8a8-ffca-74fa-bb31-38be33811f90'],
  run: async (input, context) => (await import('./runs.ts')).retryRun(input, context),
})

export default [list, show, cancel, retry]
