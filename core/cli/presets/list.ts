// The command `presets list`, which asks the running gateway for the jobs of its presets.
import type { Health } from '../../supervisor.ts'
import { type ControlOptions, openControl } from '../control-client.ts'
import { escapeInLine } from '../escape-for-terminal.ts'

type JobLine = Omit<Health, 'since'> & { preset: string; since: string }

export async function listJobs({ json, ...options }: ControlOptions & { json?: boolean }): Promise<void> {
  const { jobs } = (await openControl(options).get('/api/extensions')) as { jobs: JobLine[] }
  for (const job of jobs) process.stdout.write(`${json ? JSON.stringify(job) : describeJob(job)}\n`)
  if (jobs.length === 0) process.stderr.write('No enabled preset has a job.\n')
}

const describeJob = ({ preset, state, since, reason = '' }: JobLine): string =>
  escapeInLine([preset.padEnd(12), state.padEnd(14), since, reason].join('  ').trimEnd())
