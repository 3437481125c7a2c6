// Ends a thread of the store. `null` asks the thread to end after all messages that were sent before.
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'

export async function endThread(worker: Worker | undefined): Promise<void> {
  if (!worker) return
  worker.postMessage(null)
  await once(worker, 'exit')
}
