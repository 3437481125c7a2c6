// Notices that the configuration file has changed.
import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Editors write a file in several steps: this long after the last one it counts as written. */
const settleMs = 100

/** Calls back after each change, also when the file is replaced by another. Never keeps the process alive. */
export function watchConfig(file: string, onChange: () => void): { close(): void } {
  let settled: NodeJS.Timeout | undefined
  // The folder, because a watcher of the file itself goes blind once the file is replaced.
  const watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
    if (name !== null && name !== basename(file)) return
    clearTimeout(settled)
    settled = setTimeout(onChange, settleMs).unref()
  })
  watcher.on('error', () => watcher.close())
  return {
    close: () => {
      clearTimeout(settled)
      watcher.close()
    },
  }
}
