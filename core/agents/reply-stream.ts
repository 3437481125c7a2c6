// Replies while they are written: passed on to whoever listens to a run, and stored nowhere.

type Listener = (text: string) => void

export interface ReplyStreams {
  /**
   * Calls the listener with every piece of the run's reply, from the beginning when it listens before the run is
   * accepted. Returns how to leave.
   */
  listen(runId: string, listener: Listener): () => void
  /** Where a run's reply goes; undefined when nobody listens. */
  of(runId: string): Listener | undefined
}

export function createReplyStreams(): ReplyStreams {
  const listeners = new Map<string, Listener>()
  return {
    listen: (runId, listener) => {
      listeners.set(runId, listener)
      return () => void listeners.delete(runId)
    },
    of: (runId) => listeners.get(runId),
  }
}
