// The commands about stored webhook requests: `requests` lists and shows them, and `replay` replays them.
import { parseCount, parseTime } from 'svc-gateway/kit'
import { defineCommand } from 'svc-gateway/plugin'

const filter = {
  hook: { value: '<name>', description: 'only requests of this hook', completes: 'hook' },
  status: {
    value: '<status>',
    description: 'only requests with this status',
    choices: ['accepted', 'skipped', 'rejected', 'failed', 'duplicate'],
  },
  runStatus: {
    value: '<status>',
    description: 'only requests that led to a run with this status',
    choices: ['queued', 'running', 'waiting', 'succeeded', 'failed', 'timed_out', 'cancelled'],
  },
  since: {
    value: '<time>',
    description: 'only requests since a duration such as 2h, or a time such as 2026-11-20T08:00Z',
    parse: parseTime,
  },
  until: { value: '<time>', description: 'only requests before that time', parse: parseTime },
  text: { value: '<text>', description: 'only requests whose body contains this text' },
} as const

const requests = defineCommand({
  name: 'requests',
  description: 'List the webhook requests of the running gateway, newest first, or show one of them.',
  arguments: {
    requestId: { description: 'the id of the request, from the list', optional: true, completes: 'request' },
  },
  options: filter,
  needs: ['control'],
  limit: 50,
  json: 'one JSON object per line, as in the API',
  examples: ['requests --hook deploys --since 2h', 'requests --status rejected --json'],
  run: async (input, context) => (await import('./requests.ts')).printRequests(input, context),
})

const replay = defineCommand({
  name: 'replay',
  description: 'Replay a request of the running gateway, or all requests that a filter selects.',
  arguments: {
    requestId: { description: 'the id of the request, from "requests"', optional: true, completes: 'request' },
  },
  options: {
    dryRun: { description: 'show what would happen without starting anything' },
    mapping: {
      value: '<id>',
      description: 'use this mapping or preset instead of the one that matches',
      completes: 'mapping',
    },
    body: {
      value: '<file>',
      description: 'use the JSON in this file instead of the stored body; "-" is standard input',
      completes: 'file',
    },
    ...filter,
    yes: { description: 'with a filter: replay the requests after the dry run' },
    again: { description: 'with a filter: include requests that were already replayed' },
    limit: {
      value: '<number>',
      description: 'with a filter: do not start if more requests match',
      parse: parseCount,
      default: 100,
    },
    rate: {
      value: '<number>',
      description: 'with a filter: maximum requests per second',
      parse: parseCount,
      default: 5,
    },
  },
  needs: ['control'],
  json: 'one JSON object per line',
  examples: [
    'replay 01a1f947-4187-78bf-9116-2f771f2d2481 --dry-run',
    'replay --hook deploys --since 2h --run-status failed --yes',
  ],
  run: async (input, context) => (await import('./replay.ts')).replay(input, context),
})

export default [requests, replay]
