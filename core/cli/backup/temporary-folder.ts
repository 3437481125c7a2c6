// A folder for unfinished work, which is removed at the end, also after Ctrl-C.
import { mkdtempSync, rmSync } from 'node:fs'
import { onInterrupt } from '../interrupt.ts'

/** @param what is printed after Ctrl-C */
export async function withTemporaryFolder(
  prefix: string,
  what: string,
  work: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(prefix)
  // Tried again, because threads may still create files in it.
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  process.on('exit', remove)
  using _ = onInterrupt((signal) => {
    process.stderr.write(`\n${what}\n`)
    remove()
    // `process.exit` would wait for a thread that reads a large store.
    process.kill(process.pid, signal)
  })
  try {
    await work(folder)
  } finally {
    process.off('exit', remove)
    remove()
  }
}
