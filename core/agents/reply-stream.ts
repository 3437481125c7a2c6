// Passes the text of a reply to the listener of its run while the model writes it. Nothing is stored.

type Listener = (text: string) => void

export interface ReplyStreams {
  /**
   * Calls the listener with each part of the run's reply. Register it before you accept the run to get the whole reply.
   * Returns the function that removes the listener.
   */
  listen(runId: string, listener: Listener): () => void
  getListener(runId: string): Listener | undefined
}

export function createReplyStreams(): ReplyStreams {
  const listeners = new Map<string, Listener>()
  return {
    listen: (runId, listener) => {
      listeners.set(runId, listener)
      return () => void listeners.delete(runId)
    },
    getListener: (runId) => listeners.get(runId),
  }
}
