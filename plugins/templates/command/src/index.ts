// The command `plugin-name`, which counts the runs of each hook. Its code is imported when it runs.
import { parseTime } from 'svc-gateway/kit'
import { defineCommand } from 'svc-gateway/plugin'

export default defineCommand({
  name: 'plugin-name',
  description: 'Plugin Name: count the runs of each hook of the running gateway.',
  options: {
    status: { value: '<status>', description: 'only runs with this status', choices: ['succeeded', 'failed'] },
    since: { value: '<time>', description: 'only runs since a duration such as 2h, or a time', parse: parseTime },
  },
  needs: ['control'],
  json: 'one JSON object per line: a hook and the number of its runs',
  examples: ['plugin-name', 'plugin-name --since 2h --status failed'],
  run: async (input, context) => (await import('./count-runs.ts')).countRuns(input, context),
})
