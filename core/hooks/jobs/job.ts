// One job of a preset: of the gateways on one store, only the one that holds its lease runs it.
import { createExtensionLog } from '../../loader/extension-log.ts'
import type { ExtensionState, Log, PresetContext, PresetJob } from '../../plugin/plugin.ts'
import type { CreateLease, HeldLease } from '../../store/held-lease.ts'
import { createSupervisor, type Health, type Supervisor } from '../../reconnect.ts'
import type { NeededJob } from './needed-jobs.ts'

/** Accepts a payload of a preset. */
export type AcceptPayload = (
  preset: string,
  ...payload: Parameters<PresetContext['accept']>
) => ReturnType<PresetContext['accept']>

export interface JobDeps {
  createLease: CreateLease
  accept: AcceptPayload
  state(owner: string): ExtensionState
  /** Says, as the end of a sentence, which package is not installed. Such a job does not start. */
  findMissingPackages(job: NeededJob): string | undefined
  /** Removes secrets from a text. */
  redact(text: string): string
  log: Log
}

export interface Job {
  settings: NeededJob['settings']
  /** Absent while it does not run in this gateway. */
  readonly running: PresetJob | undefined
  health(): Health
  /** Starts the job in the background, once no other gateway runs it, and retries on failure. */
  open(): void
  close(): Promise<void>
}

export function createJob(deps: JobDeps, needed: NeededJob): Job {
  const supervisor = superviseJob(deps, needed, () => lease.isHeld())
  const lease = deps.createLease(`preset ${needed.preset.name}`, {
    onAcquired: () => void supervisor.open(),
    onLost: () => void supervisor.standBy('Another gateway on the same store runs it.'),
  })
  return {
    settings: needed.settings,
    get running() {
      return supervisor.opened
    },
    health: supervisor.health,
    open: lease.start,
    // The job first: only then may another gateway start it.
    close: async () => {
      await supervisor.close()
      await lease.close()
    },
  }
}

function superviseJob(
  deps: JobDeps,
  { preset, settings }: NeededJob,
  isHeld: HeldLease['isHeld'],
): Supervisor<PresetJob> {
  const fields = { preset: preset.name }
  const context = {
    log: createExtensionLog(deps.log, fields),
    state: guardState(deps.state(`preset:${preset.name}`), isHeld),
    accept: (...payload: Parameters<PresetContext['accept']>) => deps.accept(preset.name, ...payload),
  }
  return createSupervisor<PresetJob>({
    fields,
    open: async (attempt) => {
      const job = await preset.start?.(settings, { ...context, ...attempt })
      if (typeof job?.close !== 'function') throw new TypeError('`start` must resolve with an object with `close`')
      return job
    },
    findMissing: () => {
      const missing = deps.findMissingPackages({ preset, settings })
      return missing && `The preset "${preset.name}" ${missing}`
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

/** A job that goes on after its lease was lost must not overwrite the cursor of the next one. */
function guardState(state: ExtensionState, isHeld: HeldLease['isHeld']): ExtensionState {
  const check = (): void => {
    if (!isHeld()) throw new Error('Another gateway on the same store may run this job now.')
  }
  return {
    get: state.get,
    set: async (key, value) => {
      check()
      await state.set(key, value)
    },
    delete: async (key) => {
      check()
      await state.delete(key)
    },
  }
}
