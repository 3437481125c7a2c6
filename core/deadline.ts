// Deadlines: ends a wait in time, even if the work ignores its abort signal.

/** Settles as the work does, or rejects with the signal's reason as soon as the signal aborts. */
export function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    // This also handles a rejection that comes after the abort.
    work.then(resolve, reject).then(() => signal.removeEventListener('abort', onAbort))
  })
}

export interface Deadline {
  /** Signals that end the work early. */
  signals?: readonly AbortSignal[]
  ms: number
  /** The error that the work's signal and the caller receive at the deadline. */
  reason: () => Error
}

/** Runs the work with a signal that aborts at the deadline or when one of the given signals aborts. */
export async function withDeadline<T>(
  { signals = [], ms, reason }: Deadline,
  work: (signal: AbortSignal) => PromiseLike<T> | T,
): Promise<T> {
  const controller = new AbortController()
  for (const signal of signals) signal.throwIfAborted()
  const working = work(controller.signal)
  // Synchronous work needs no timer.
  if (!isPending(working)) return working
  // Not AbortSignal.any: its listeners would stay on signals that outlive the call.
  const timer = setTimeout(() => controller.abort(reason()), ms)
  const unlink = signals.map((signal) => follow(signal, controller))
  try {
    return await untilAborted(working, controller.signal)
  } finally {
    clearTimeout(timer)
    for (const undo of unlink) undo()
  }
}

const isPending = <T>(value: PromiseLike<T> | T): value is PromiseLike<T> =>
  typeof (value as PromiseLike<T> | null)?.then === 'function'

function follow(signal: AbortSignal, controller: AbortController): () => void {
  const abort = () => controller.abort(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}
