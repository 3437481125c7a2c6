// The store's own thread: what has been sent while it was busy shares the next commit, and is answered when it is on disk.
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { Call } from './operations.ts'
import { createBatches } from './sqlite-batch.ts'

/** `null` says goodbye. */
type Message = readonly Call[] | null

/** Calls from which on a commit takes no further group. */
const mostCalls = 256

if (!parentPort) throw new Error('This file runs as a worker thread.')
const port = parentPort
const batches = createBatches((workerData as { path: string }).path)
const arrived: Message[] = []
let turn = Promise.resolve()

port.on('message', (message: Message) => {
  arrived.push(message)
  turn = turn.then(commitArrived)
})

async function commitArrived(): Promise<void> {
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) arrived.push(next.message as Message)
  while (arrived.length > 0) {
    const groups = takeGroups()
    if (groups.length === 0) return close()
    port.postMessage(await batches.commit(groups))
  }
}

/** @returns none when a goodbye is next */
function takeGroups(): (readonly Call[])[] {
  const groups: (readonly Call[])[] = []
  for (let size = 0; size < mostCalls && arrived[0]; size += groups.at(-1)?.length ?? 0) groups.push(arrived.shift() as readonly Call[])
  return groups
}

function close(): void {
  batches.close()
  port.close()
}
