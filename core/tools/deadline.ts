// Ends a wait in time, whether or not what is waited for listens to its signal.

/** Settles as the work does, or rejects with the signal's reason the moment it aborts. */
export function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    // Work that fails after the abort is handled here too: nobody else listens any more.
    work.then(resolve, reject).then(() => signal.removeEventListener('abort', stop))
  })
}

export interface Deadline {
  /** Ends the work too. */
  signals: readonly AbortSignal[]
  ms: number
  /** What the work's signal, and the caller, get when the time is over. */
  reason: () => Error
}

/** Runs the work with a signal that aborts at the deadline, or with one of the given signals. */
export async function withDeadline<T>(
  { signals, ms, reason }: Deadline,
  work: (signal: AbortSignal) => PromiseLike<T> | T,
): Promise<T> {
  const controller = new AbortController()
  for (const signal of signals) signal.throwIfAborted()
  const working = work(controller.signal)
  // Work that is done at once needs no watching, which would cost more than most such work.
  if (!isPending(working)) return working
  // By hand and not AbortSignal.any(timeout): each call leaves nothing behind on signals that outlive it.
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
