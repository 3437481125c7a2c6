// How a thread of the store ends: `null` is its goodbye, after everything that it was sent before.
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'

export async function endThread(worker: Worker | undefined): Promise<void> {
  if (!worker) return
  worker.postMessage(null)
  await once(worker, 'exit')
}
