// The thread that copies or checks a whole store, which takes long for a large one.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

export type CopierTask = { path: string; target: string } | { path: string }

const task = workerData as CopierTask
parentPort?.postMessage('target' in task ? copy(task) : findDamage(task.path))

function copy({ path, target }: { path: string; target: string }): void {
  using db = open(path)
  db.prepare('VACUUM INTO ?').run(target)
}

function findDamage(path: string): string | undefined {
  try {
    using db = open(path)
    const [result] = db.prepare('PRAGMA integrity_check(1)').all()
    return result?.['integrity_check'] === 'ok' ? undefined : String(result?.['integrity_check'])
  } catch (error) {
    return (error as Error).message
  }
}

function open(path: string): DatabaseSync {
  return new DatabaseSync(path, { readOnly: true, timeout: 5000 })
}
