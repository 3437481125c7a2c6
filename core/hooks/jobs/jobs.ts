// Runs the jobs of the enabled presets, and applies changes of the configuration.
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/schema/schema.ts'
import type { Preset } from '../../plugin/plugin.ts'
import { catchUp, type Replicas, type Topic } from '../../store/replicas.ts'
import { Type } from '../../typebox.ts'
import type { Health } from '../../reconnect.ts'
import { createJob, type Job, type JobDeps } from './job.ts'
import { findNeededJobs, type NeededJob } from './needed-jobs.ts'

export interface JobState extends Health {
  preset: string
}

export interface Jobs {
  /** Starts every job in the background. */
  open(): void
  /** Applies changed settings. Also restarts jobs whose credentials were refused. */
  update(hooks: Config['hooks']): Promise<void>
  /** Tells the job of a preset, wherever it runs, that a webhook has come. */
  notify(preset: string): void
  states(): JobState[]
  close(): Promise<void>
}

interface JobsDeps extends JobDeps {
  presets: ReadonlyMap<string, Preset>
  hooks: Config['hooks']
  replicas: Replicas
}

/** A webhook has come for the job of the preset that the message names. */
const webhookTopic = { name: 'preset webhook', item: Type.String() } satisfies Topic

export function createJobs(deps: JobsDeps): Jobs {
  const { presets, replicas } = deps
  const jobs = new Map<string, Job>()
  const add = (needed: NeededJob): Job => {
    const job = createJob(deps, needed)
    jobs.set(needed.preset.name, job)
    return job
  }
  for (const needed of findNeededJobs(deps)) add(needed)
  replicas.subscribe(webhookTopic, (preset) => jobs.get(preset)?.running?.onWebhook?.())
  // A webhook may have come to a gateway that could not say so.
  replicas.subscribe(catchUp, () => jobs.forEach((job) => job.running?.onWebhook?.()))

  return {
    open: () => {
      for (const job of jobs.values()) job.open()
    },
    async update(hooks) {
      const needed = new Map(findNeededJobs({ presets, hooks }).map((job) => [job.preset.name, job]))
      const ended = [...jobs].filter(
        ([name, job]) =>
          job.health().state === 'unauthorized' || !isDeepStrictEqual(needed.get(name)?.settings, job.settings),
      )
      await Promise.allSettled(ended.map(([, job]) => job.close()))
      for (const [name] of ended) jobs.delete(name)
      for (const [name, job] of needed) if (!jobs.has(name)) add(job).open()
    },
    notify(preset) {
      const job = jobs.get(preset)
      if (job?.running) job.running.onWebhook?.()
      else if (job) replicas.publish(webhookTopic, preset)
    },
    states: () => Array.from(jobs, ([preset, job]) => ({ preset, ...job.health() })),
    close: async () => void (await Promise.allSettled([...jobs.values()].map((job) => job.close()))),
  }
}
