// The command `presets list`, which asks the running gateway for the jobs of its presets.
import type { Health } from '../../reconnect.ts'
import { type ControlOptions, openControl } from '../control-client.ts'
import { printList } from '../inspect/output.ts'

type JobLine = Omit<Health, 'since'> & { preset: string; since: string }

export async function listJobs({ json, ...options }: ControlOptions & { json?: boolean }): Promise<void> {
  const { jobs } = (await openControl(options).get('/api/extensions')) as { jobs: JobLine[] }
  await printList(
    jobs,
    { json },
    {
      noun: 'jobs of enabled presets',
      columns: [
        { title: 'PRESET', text: ({ preset }) => preset },
        { title: 'STATE', text: ({ state }) => state },
        { title: 'SINCE', text: ({ since }) => since },
        { title: 'REASON', text: ({ reason = '' }) => reason },
      ],
    },
  )
}
