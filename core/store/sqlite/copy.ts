// Copies a store, also while a gateway uses it, and checks a copy.
import { DatabaseSync } from 'node:sqlite'

/** Writes a consistent copy of what is committed at this moment. `target` must not exist. */
export function copyStore(path: string, target: string): void {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    db.prepare('VACUUM INTO ?').run(target)
  } finally {
    db.close()
  }
}

/** Returns what is wrong with a store that no gateway uses, or undefined. */
export function findDamage(path: string): string | undefined {
  try {
    const db = new DatabaseSync(path, { readOnly: true })
    try {
      const [result] = db.prepare('PRAGMA integrity_check(1)').all()
      return result?.['integrity_check'] === 'ok' ? undefined : String(result?.['integrity_check'])
    } finally {
      db.close()
    }
  } catch (error) {
    return (error as Error).message
  }
}
