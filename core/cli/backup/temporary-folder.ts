// A folder for unfinished work, which is removed at the end, also after Ctrl-C.
import { mkdtempSync, rmSync } from 'node:fs'

const signals = ['SIGINT', 'SIGTERM'] as const

/** @param what is printed after Ctrl-C */
export async function withTemporaryFolder(
  prefix: string,
  what: string,
  work: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(prefix)
  // `process.exit` would wait for a thread that reads a large store.
  const onSignal = (signal: NodeJS.Signals): void => {
    process.stderr.write(`\n${what}\n`)
    remove()
    process.off(signal, onSignal)
    process.kill(process.pid, signal)
  }
  // Tried again, because threads may still create files in it.
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  process.on('exit', remove)
  for (const signal of signals) process.on(signal, onSignal)
  try {
    await work(folder)
  } finally {
    for (const signal of signals) process.off(signal, onSignal)
    process.off('exit', remove)
    remove()
  }
}
