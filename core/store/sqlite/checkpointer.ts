// The thread that checkpoints the write-ahead log of the SQLite file. A failure ends the thread; the log stays intact,
// and the next checkpoint starts another thread.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

if (!parentPort) throw new Error('This file runs as a worker thread.')
serve(parentPort, new DatabaseSync((workerData as { path: string }).path, { timeout: 5000 }))

/** `null` asks the thread to end. */
function serve(port: NonNullable<typeof parentPort>, db: DatabaseSync): void {
  db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1')
  port.on('message', (message: 'checkpoint' | null) => {
    if (message === 'checkpoint') {
      db.exec('PRAGMA wal_checkpoint(PASSIVE)')
      port.postMessage('done')
      return
    }
    db.close()
    port.close()
  })
}
