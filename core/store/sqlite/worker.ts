// The store's own thread: what has been sent while it was busy shares the next commit, and is answered when it is on
// disk.
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { Call } from '../operations/operations.ts'
import { type Batches, createBatches } from './batch.ts'

/** `null` says goodbye. */
type Message = readonly Call[] | null

/** Calls from which on a commit takes no further group. */
const mostCalls = 256

if (!parentPort) throw new Error('This file runs as a worker thread.')
serve(parentPort, createBatches((workerData as { path: string }).path))

function serve(port: MessagePort, batches: Batches): void {
  const arrived: Message[] = []
  let turn = Promise.resolve()

  async function commitArrived(): Promise<void> {
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
      arrived.push(next.message as Message)
    while (arrived.length > 0) {
      const groups = takeGroups(arrived)
      if (groups.length === 0) return close()
      port.postMessage(await batches.commit(groups))
    }
  }

  async function close(): Promise<void> {
    await batches.close()
    port.close()
  }

  port.on('message', (message: Message) => {
    arrived.push(message)
    turn = turn.then(commitArrived)
  })
}

/** @returns none when a goodbye is next */
function takeGroups(arrived: Message[]): (readonly Call[])[] {
  const groups: (readonly Call[])[] = []
  for (let size = 0, next = arrived[0]; next && size < mostCalls; next = arrived[0]) {
    groups.push(next)
    arrived.shift()
    size += next.length
  }
  return groups
}
