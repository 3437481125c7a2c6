// Keeps the log of the SQLite file short. Copying it into the file may take the disk half a second, so another thread
// does it, and no commit waits.
import { extname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { endThread } from './end-thread.ts'

/** In pages of the log. */
const pages = {
  /** Uncopied ones that are worth a pass. Larger passes keep the disk from the commits for longer. */
  pass: 250,
  /** From here on the log begins anew as soon as no more than `rest` is left to copy: commits wait for that. */
  long: 4000,
  rest: 125,
  /** From here on commits wait. */
  most: 16_000,
}

export interface Checkpoints {
  /** Call it between two commits. */
  next(): Promise<void>
  /** The next pass is worth it however little there is to copy: the file becomes shorter. */
  ask(): void
  close(): Promise<void>
}

export function createCheckpoints(path: string, db: DatabaseSync): Checkpoints {
  const measure = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  const restart = db.prepare('PRAGMA wal_checkpoint(RESTART)')
  let worker: Worker | undefined
  let pass: Promise<unknown> | undefined
  let asked = false

  async function next(): Promise<void> {
    let { log, left } = read()
    if (log >= pages.most && pass) {
      await pass
      ;({ log, left } = read())
    }
    if (pass) return
    if (log >= pages.most || (log >= pages.long && left <= pages.rest)) restart.get()
    else if (left >= (asked ? 1 : pages.pass)) pass = copy()
  }

  function read(): { log: number; left: number } {
    const { log, checkpointed } = measure.get() as { log: number; checkpointed: number }
    return { log, left: log - checkpointed }
  }

  function copy(): Promise<void> {
    asked = false
    worker ??= start()
    const running = worker
    running.postMessage('copy')
    return new Promise((resolve) => {
      const end = (): void => {
        running.off('message', end).off('exit', end)
        pass = asked && worker === running ? copy() : undefined
        resolve()
      }
      running.once('message', end).once('exit', end)
    })
  }

  function start(): Worker {
    const started = new Worker(new URL(`./checkpointer${extname(import.meta.filename)}`, import.meta.url), {
      workerData: { path },
      name: 'checkpoints',
    })
    // Where the disk fails the commits fail too, and they report it.
    started.on('error', () => undefined)
    started.on('exit', () => {
      if (worker === started) worker = undefined
    })
    return started
  }

  return {
    next,
    ask: () => void (asked = true),
    async close() {
      const closing = worker
      worker = undefined
      await endThread(closing)
    },
  }
}
