// The store's own thread: it takes batches, commits them, and answers when they are on disk.
import { parentPort, workerData } from 'node:worker_threads'
import type { Call } from './operations.ts'
import { createBatches } from './sqlite-batch.ts'

if (!parentPort) throw new Error('This file runs as a worker thread.')
const port = parentPort
const batches = createBatches((workerData as { path: string }).path)

/** `null` says goodbye. The other side sends a message only after the answer to the one before, so two never overlap. */
port.on('message', (batch: readonly Call[] | null) => {
  if (batch) {
    void batches.commit(batch).then((outcome) => port.postMessage(outcome))
    return
  }
  batches.close()
  port.close()
})
