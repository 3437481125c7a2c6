// Delays the restart of child processes that end again and again without a response in between.

export interface RestartBackoff {
  recordEnd(): void
  /** After a failed start the next attempt always waits. */
  recordFailedStart(): void
  recordResponse(): void
  /** Calls `restart` at once after the first few ends, later after a pause that doubles with each end. */
  schedule(restart: () => void): void
  isPaused(): boolean
  cancel(): void
}

export function createRestartBackoff(): RestartBackoff {
  let ends = 0
  let pause: NodeJS.Timeout | undefined
  return {
    recordEnd: () => void ends++,
    recordFailedStart: () => void (ends = Math.max(ends, immediateRestarts) + 1),
    recordResponse: () => void (ends = 0),
    schedule(restart) {
      if (ends <= immediateRestarts) restart()
      else pause ??= setTimeout(restart, Math.min(longestPauseMs, 100 * 2 ** (ends - immediateRestarts))).unref()
    },
    isPaused: () => pause !== undefined,
    cancel() {
      clearTimeout(pause)
      pause = undefined
    },
  }
}

const immediateRestarts = 4
const longestPauseMs = 30_000
