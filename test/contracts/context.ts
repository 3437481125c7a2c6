// The context that an extension gets in a test: state in memory, a log that can be read, a signal that can be aborted.
import type { Json, ExtensionContext } from '../../core/plugin.ts'

export interface TestContext extends ExtensionContext {
  /** What the extension has logged, oldest first. */
  readonly logged: readonly { level: 'debug' | 'info' | 'warn' | 'error'; fields: object; message: string }[]
  /** Aborts `signal`, as the gateway does when it stops. */
  abort(): void
}

/**
 * A context of its own for one test: `{ ...createTestContext(), accountId: 'default', receive }` makes it a channel's.
 */
export function createTestContext(): TestContext {
  const controller = new AbortController()
  const values = new Map<string, Json>()
  const logged: TestContext['logged'][number][] = []
  const write = (level: TestContext['logged'][number]['level']) => (fields: object, message: string) =>
    void logged.push({ level, fields, message })
  return {
    logged,
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    signal: controller.signal,
    abort: () => controller.abort(),
    state: {
      get: async (key) => values.get(key),
      set: async (key, value) => void values.set(key, structuredClone(value)),
      delete: async (key) => void values.delete(key),
    },
  }
}
