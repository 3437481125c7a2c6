// The time limits of a run: of the whole run, or of each attempt. That of an attempt does not run while the attempt
// waits to repeat a failed call of its model.
import { SilentModelError } from './model-error.ts'
import { type ModelCallObserver, noObserver } from './model-silence.ts'

export interface TimeLimit {
  start(): void
  isReached(): boolean
  /** Observes the calls of the model. */
  modelCalls: ModelCallObserver
  close(): void
}

/** The rest of the time of a whole run, whatever it waits for. `onReached` may be called at once. */
export function createDeadline(ms: number, onReached: () => void): TimeLimit {
  const timer = ms > 0 ? setTimeout(onReached, ms) : onReached()
  return {
    start() {},
    isReached: () => false,
    modelCalls: noObserver,
    close: () => clearTimeout(timer ?? undefined),
  }
}

/** A model that is silent at the limit has failed if its silence has taken this share of the time. */
const silentShare = 0.1

/** If the model is silent at the limit, its call fails. Otherwise `onReached` is called. */
export function createTimeLimit(ms: number, onReached: () => void): TimeLimit {
  const outOfTime = new AbortController()
  let remainingMs = ms
  let startedAt = 0
  let silentSince: number | undefined
  let timer: NodeJS.Timeout | undefined
  let isReached = false

  const reach = (): void => {
    isReached = true
    const isSilent = silentSince !== undefined && performance.now() - silentSince >= ms * silentShare
    if (isSilent) outOfTime.abort(new SilentModelError('was silent at the time limit of the run'))
    else onReached()
  }

  const resume = (): void => {
    if (timer || isReached) return
    startedAt = performance.now()
    timer = setTimeout(reach, remainingMs)
  }

  const pause = (): void => {
    if (!timer) return
    clearTimeout(timer)
    timer = undefined
    remainingMs -= performance.now() - startedAt
  }

  return {
    start: resume,
    isReached: () => isReached,
    modelCalls: {
      started: () => {
        silentSince = performance.now()
        resume()
      },
      received: () => {
        silentSince = performance.now()
      },
      answered: () => {
        silentSince = undefined
      },
      failed: () => {
        silentSince = undefined
        pause()
      },
      outOfTime: outOfTime.signal,
    },
    close: () => clearTimeout(timer),
  }
}
