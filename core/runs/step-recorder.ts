// Records the steps of an attempt: stores them, shortened and without secrets, and publishes them.
import { readJson } from '../json.ts'
import type { Json } from '../plugin/plugin.ts'
import { retryUntilStored } from '../store/retry-until-stored.ts'
import {
  type AskedApprovals,
  budgetScopesOf,
  type Step,
  type StepContent,
  type Store,
  type StoredRun,
} from '../store/store.ts'
import { untilAborted } from '../deadline.ts'
import { createUnderWay } from '../under-way.ts'
import { Stopped } from './attempt-result.ts'

export interface StepRecorder {
  /** Adds the steps of earlier attempts. */
  resume(steps: readonly Step[]): void
  /** Waits while the store is unavailable. Throws `Stopped` if the run is lost, and the reason of the signal. */
  record(steps: readonly Step[], count: number, asked?: AskedApprovals): Promise<void>
  /** Publishes the beginning of a call of the model, which is not stored. */
  begin(step: Step): void
  /** The step as it is stored with the end of its run. */
  shorten(step: Step): Step
  /** The call of the model that has begun and not ended. */
  current(): Step | undefined
  /** Resolves when no step is being stored. */
  settled(): Promise<void>
  /** All steps of the run that are stored, in their last state. */
  stored(): readonly Step[]
}

interface RecorderDeps {
  store: Pick<Store, 'recordSteps'>
  /** Redacts the strings of a JSON text. */
  redactJson(text: string): string
  /** The time of the store. */
  now(): number
  publish(run: StoredRun, step: Step): void
  /** Called when approvals, or messages to approvers, are stored. */
  onAsked(): void
}

const storeRetryMs = 1_000
/** The most characters of arguments, and of a result, that are kept. */
const maxLength = 64 * 1024

export function createStepRecorder(
  { store, redactJson, now, publish, onAsked }: RecorderDeps,
  run: StoredRun,
  signal: AbortSignal,
): StepRecorder {
  // The whole run would be copied to the thread of the store with each step.
  const ref = { id: run.id, fencingToken: run.fencingToken }
  const scopes = budgetScopesOf(run)
  const stored = new Map<number, Step>()
  const underWay = createUnderWay()
  let current: Step | undefined
  const keepsContent = run.spec.origin.keepContent !== false

  const shortenValue = (value: Json): Json => {
    const text = JSON.stringify(value)
    const safe = redactJson(text)
    if (safe.length <= maxLength) return safe === text ? value : (readJson(safe) as Json)
    const whole = typeof value === 'string' ? (JSON.parse(safe) as string) : safe
    return `${whole.slice(0, maxLength).toWellFormed()}\n[cut: ${whole.length} characters in all]`
  }
  const shortenContent = (content: StepContent): StepContent =>
    Object.fromEntries(
      Object.entries(content).flatMap(([key, value]) => (value === undefined ? [] : [[key, shortenValue(value)]])),
    )
  /** A model may write a secret as the name of a tool, and its service into an error. */
  const redactDetail = <Detail>(detail: Detail): Detail => {
    const text = JSON.stringify(detail)
    const safe = redactJson(text)
    return safe === text ? detail : (JSON.parse(safe) as Detail)
  }
  const shorten = (step: Step): Step =>
    ({
      ...step,
      detail: redactDetail(step.detail),
      content: keepsContent && step.content ? shortenContent(step.content) : null,
    }) as Step

  return {
    resume: (steps) => {
      for (const step of steps) stored.set(step.number, step)
    },
    record: async (steps, count, asked) => {
      const shortened = steps.map(shorten)
      const recorded = { steps: shortened, count, counted: { scopes, at: now() }, asked }
      const work = underWay.add(
        retryUntilStored(() => store.recordSteps(ref, recorded), {
          everyMs: storeRetryMs,
          isGivenUp: () => signal.aborted,
        }),
      )
      if (!(await untilAborted(work, signal))) throw new Stopped('lost')
      current = undefined
      if (asked) onAsked()
      for (const step of shortened) {
        stored.set(step.number, step)
        publish(run, step)
      }
    },
    begin: (step) => {
      current = step
      publish(run, step)
    },
    shorten,
    current: () => current,
    settled: underWay.settled,
    stored: () => [...stored.values()],
  }
}
