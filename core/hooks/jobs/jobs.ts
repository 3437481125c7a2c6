// Runs the jobs of the enabled presets, and applies changes of the configuration.
import { isDeepStrictEqual } from 'node:util'
import { resolvePresetSettings } from '../../config/preset-settings.ts'
import type { Config } from '../../config/schema.ts'
import { presetSection } from '../../config/schema/hooks.ts'
import { createExtensionLog } from '../../loader/extension-log.ts'
import type { ExtensionState, Log, Preset, PresetContext, PresetJob } from '../../plugin.ts'
import { createSupervisor, type Health, type Supervisor } from '../../supervisor.ts'

export interface JobState extends Health {
  preset: string
}

/** Accepts a payload of a preset. */
export type AcceptPayload = (
  preset: string,
  ...payload: Parameters<PresetContext['accept']>
) => ReturnType<PresetContext['accept']>

export interface Jobs {
  /** Starts every job in the background, and retries on failure. */
  open(): void
  /** Applies changed settings. Also restarts jobs whose credentials were refused. */
  update(hooks: Config['hooks']): Promise<void>
  /** Tells the job of a preset, if it runs, that a webhook has come. */
  notify(preset: string): void
  states(): JobState[]
  close(): Promise<void>
}

interface JobsDeps {
  presets: ReadonlyMap<string, Preset>
  hooks: Config['hooks']
  accept: AcceptPayload
  state(owner: string): ExtensionState
  /** Removes secrets from a text. */
  redact(text: string): string
  log: Log
}

interface Job {
  settings: Record<string, unknown>
  supervisor: Supervisor<PresetJob>
}

export function createJobs(deps: JobsDeps): Jobs {
  const jobs = new Map<string, Job>()
  const add = ([name, settings]: readonly [string, Record<string, unknown>]): Job => {
    const job = { settings, supervisor: superviseJob(deps, deps.presets.get(name) as Preset, settings) }
    jobs.set(name, job)
    return job
  }
  for (const wanted of jobsOf(deps)) add(wanted)

  return {
    open: () => {
      for (const { supervisor } of jobs.values()) supervisor.open()
    },
    async update(hooks) {
      const wanted = new Map(jobsOf({ ...deps, hooks }))
      const ended = [...jobs].filter(
        ([name, { settings, supervisor }]) =>
          supervisor.health().state === 'unauthorized' || !isDeepStrictEqual(wanted.get(name), settings),
      )
      await Promise.allSettled(ended.map(([, { supervisor }]) => supervisor.close()))
      for (const [name] of ended) jobs.delete(name)
      for (const entry of wanted) if (!jobs.has(entry[0])) add(entry).supervisor.open()
    },
    notify: (preset) => jobs.get(preset)?.supervisor.opened?.onWebhook?.(),
    states: () => Array.from(jobs, ([preset, { supervisor }]) => ({ preset, ...supervisor.health() })),
    close: async () => void (await Promise.allSettled([...jobs.values()].map(({ supervisor }) => supervisor.close()))),
  }
}

/** The presets whose settings need a job, with these settings. */
function jobsOf({ presets, hooks }: Pick<JobsDeps, 'presets' | 'hooks'>): (readonly [string, Job['settings']])[] {
  if (!hooks.enabled) return []
  return [...new Set(hooks.presets)].flatMap((name) => {
    const preset = presets.get(name)
    if (!preset?.start) return []
    const settings = resolvePresetSettings(preset, presetSection(hooks, name))
    return (preset.needsJob?.(settings) ?? true) ? [[name, settings] as const] : []
  })
}

function superviseJob(deps: JobsDeps, preset: Preset, settings: Job['settings']): Supervisor<PresetJob> {
  const fields = { preset: preset.name }
  const context = {
    log: createExtensionLog(deps.log, fields),
    state: deps.state(`preset:${preset.name}`),
    accept: (...payload: Parameters<PresetContext['accept']>) => deps.accept(preset.name, ...payload),
  }
  return createSupervisor<PresetJob>({
    fields,
    open: async (attempt) => {
      const job = await preset.start?.(settings, { ...context, ...attempt })
      if (typeof job?.close !== 'function') throw new TypeError('`start` must resolve with an object with `close`')
      return job
    },
    redact: deps.redact,
    log: deps.log,
    messages: {
      opened: 'the job of the preset runs',
      failed: 'the job of the preset could not start; it is tried again',
      lost: 'the job of the preset was interrupted; it starts again',
      refused: 'the service refuses the credentials of the preset; its job waits for a reload of the configuration',
      closed: 'the job of the preset has ended',
    },
  })
}
