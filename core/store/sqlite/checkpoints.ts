// Keeps the write-ahead log of the SQLite file short. A checkpoint may keep the disk busy for half a second, so another
// thread does it and commits do not wait.
import { once } from 'node:events'
import { extname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'

/** Numbers of pages in the log. */
const pages = {
  /** With this many pages to copy, a checkpoint starts. A larger checkpoint would compete with commits for longer. */
  due: 250,
  /** A log of this length restarts as soon as at most `rest` pages are left to copy. Commits wait for the restart. */
  long: 4000,
  rest: 125,
  /** At this length, commits wait until the checkpoint has ended and the log restarts. */
  max: 16_000,
}

export interface Checkpoints {
  /** Starts a checkpoint or restarts the log if the log is long enough. Call it between two commits. */
  runIfDue(): Promise<void>
  /** Makes the next checkpoint due however little there is to copy, so that the file becomes shorter. */
  request(): void
  close(): Promise<void>
}

export function createCheckpoints(path: string, db: DatabaseSync): Checkpoints {
  const measure = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  const restart = db.prepare('PRAGMA wal_checkpoint(RESTART)')
  let worker: Worker | undefined
  let running: Promise<unknown> | undefined
  let isRequested = false

  async function runIfDue(): Promise<void> {
    let { log, left } = measureLog()
    if (log >= pages.max && running) {
      await running
      ;({ log, left } = measureLog())
    }
    if (running) return
    if (log >= pages.max || (log >= pages.long && left <= pages.rest)) restart.get()
    else if (left >= (isRequested ? 1 : pages.due)) running = runCheckpoint()
  }

  function measureLog(): { log: number; left: number } {
    const { log, checkpointed } = measure.get() as { log: number; checkpointed: number }
    return { log, left: log - checkpointed }
  }

  function runCheckpoint(): Promise<void> {
    isRequested = false
    worker ??= startWorker()
    const thread = worker
    thread.postMessage('checkpoint')
    return new Promise((resolve) => {
      const end = (): void => {
        thread.off('message', end).off('exit', end)
        running = isRequested && worker === thread ? runCheckpoint() : undefined
        resolve()
      }
      thread.once('message', end).once('exit', end)
    })
  }

  function startWorker(): Worker {
    const started = new Worker(new URL(`./checkpointer${extname(import.meta.filename)}`, import.meta.url), {
      workerData: { path },
      name: 'checkpoints',
    })
    // When the disk fails, commits fail too and report it.
    started.on('error', () => undefined)
    started.on('exit', () => {
      if (worker === started) worker = undefined
    })
    return started
  }

  return {
    runIfDue,
    request: () => void (isRequested = true),
    async close() {
      const closing = worker
      worker = undefined
      if (!closing) return
      closing.postMessage(null)
      await once(closing, 'exit')
    },
  }
}
