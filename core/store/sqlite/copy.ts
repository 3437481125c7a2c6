// Copies a store, also while a gateway uses it, and checks a copy.
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { extname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { CopierTask } from './copier.ts'

interface CopyOptions {
  /** Must not exist. */
  target: string
  /** Called with the bytes that are copied, and with all. */
  report(done: number, total: number): void
}

const reportIntervalMs = 100

/** Writes a consistent copy of what is committed at this moment. */
export async function copyStore(path: string, { target, report }: CopyOptions): Promise<void> {
  const total = usedBytes(path)
  report(0, total)
  const timer = setInterval(() => {
    const done = statSync(target, { throwIfNoEntry: false })?.size ?? 0
    report(Math.min(done, total), total)
  }, reportIntervalMs)
  try {
    await runInThread({ path, target })
  } finally {
    clearInterval(timer)
  }
}

/** Returns what is wrong with a store that no gateway uses, or undefined. */
export const findDamage = async (path: string): Promise<string | undefined> =>
  (await runInThread({ path })) as string | undefined

/** The copy has no free pages. */
function usedBytes(path: string): number {
  using db = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  const read = (pragma: string) => Number(db.prepare(`PRAGMA ${pragma}`).get()?.[pragma])
  return (read('page_count') - read('freelist_count')) * read('page_size')
}

async function runInThread(task: CopierTask): Promise<unknown> {
  const worker = new Worker(new URL(`./copier${extname(import.meta.filename)}`, import.meta.url), { workerData: task })
  const [result] = (await once(worker, 'message')) as unknown[]
  return result
}
