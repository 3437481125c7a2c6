// The command `usage`: shows how many tokens the models used, and what that cost.
import { defineCommand } from 'svc-gateway/plugin'

export default defineCommand({
  name: 'usage',
  description: 'Show the tokens that models used, and what they cost.',
  options: {
    by: {
      value: '<what>',
      description: 'what the usage is added up by',
      choices: ['agent', 'kind', 'hook', 'channel', 'model', 'session'],
    },
    per: {
      value: '<period>',
      description: 'the length of a period; without --by, the default is day',
      choices: ['hour', 'day', 'month'],
    },
    since: {
      value: '<time>',
      description: 'a day, a time, or a duration: 7d is today and the six days before',
      default: '30d',
    },
    until: { value: '<time>', description: 'the last day, or a time' },
    csv: { description: 'print comma-separated values' },
  },
  needs: ['control'],
  json: 'one JSON object, as in the API',
  examples: [
    'usage',
    'usage --by hook --since 7d',
    'usage --by model --per month --since 2026-01-01 --csv > usage.csv',
  ],
  run: async (input, context) => (await import('./usage.ts')).showUsage(input, context),
})
