// The store's thread: all groups that arrive during one commit share the next one, and are answered when it is on disk.
import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { writeBigInts } from '../../json.ts'
import type { StoreCall } from '../operations.ts'
import { type Batches, createBatches } from './batch.ts'
import type { FileIds } from './store-files.ts'

/** The file that the thread writes. */
export interface StoreFile {
  path: string
  /** What it was for an earlier thread. */
  known?: FileIds | undefined
}

/** A group of calls, or `null`, which asks the thread to end. */
type Message = readonly StoreCall[] | null

/** A commit with this many calls takes no further group. */
const maxCalls = 256

if (!parentPort) throw new Error('This file runs as a worker thread.')
const port = parentPort
// Arguments and results of tools may hold them.
writeBigInts()
// The first message says which file it is.
port.once('message', ({ path, known }: StoreFile) => serve(port, createBatches(path, known)))

function serve(port: MessagePort, batches: Batches): void {
  const waiting: Message[] = []
  let lastCommit = Promise.resolve()

  async function commitWaiting(): Promise<void> {
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
      waiting.push(next.message as Message)
    while (waiting.length > 0) {
      const groups = shiftGroups(waiting)
      if (groups.length === 0) return close()
      port.postMessage(await batches.commit(groups))
    }
  }

  async function close(): Promise<void> {
    await batches.close()
    port.close()
  }

  port.on('message', (message: Message) => {
    waiting.push(message)
    lastCommit = lastCommit.then(commitWaiting)
  })
}

/** Removes the groups of the next commit; none when the next message asks the thread to end. */
function shiftGroups(waiting: Message[]): (readonly StoreCall[])[] {
  const groups: (readonly StoreCall[])[] = []
  for (let size = 0, next = waiting[0]; next && size < maxCalls; next = waiting[0]) {
    groups.push(next)
    waiting.shift()
    size += next.length
  }
  return groups
}
