// The thread that copies the log of the SQLite file into the file. A failure ends it; the log is whole, and the next
// pass starts another one.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

if (!parentPort) throw new Error('This file runs as a worker thread.')
serve(parentPort, new DatabaseSync((workerData as { path: string }).path, { timeout: 5000 }))

/** `copy` asks for a pass, `null` says goodbye. */
function serve(port: NonNullable<typeof parentPort>, db: DatabaseSync): void {
  db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1')
  port.on('message', (message: 'copy' | null) => {
    if (message === 'copy') {
      db.exec('PRAGMA wal_checkpoint(PASSIVE)')
      port.postMessage('copied')
      return
    }
    db.close()
    port.close()
  })
}
