// The command `tail`: prints what happens in the running gateway.
import { parseCount } from 'svc-gateway/kit'
import { defineCommand } from 'svc-gateway/plugin'

export default defineCommand({
  name: 'tail',
  description: 'Print what happens in the running gateway, one line each, until Ctrl-C.',
  options: {
    topic: {
      value: '<topic>',
      description: 'request, event, run, step, approval, outbox or log; repeatable (default: all)',
      repeatable: true,
    },
    hook: { value: '<name>', description: 'only requests, runs and log lines of this hook', completes: 'hook' },
    run: { value: '<id>', description: 'only what belongs to this run', completes: 'run' },
    level: {
      value: '<level>',
      description: 'only log lines of this level or above',
      choices: ['debug', 'info', 'warn', 'error'],
    },
    limit: { value: '<number>', description: 'end after this many lines', parse: parseCount },
  },
  needs: ['control'],
  json: 'one JSON object per line: the topic and its record',
  examples: ['tail --hook deploys', 'tail --topic log --level warn --json'],
  run: async (input, context) => (await import('./tail.ts')).tail(input, context),
})
