// The context of an extension in tests: state in memory, a readable log, and a signal that can be aborted.
import { writeBigInts } from '../../core/json.ts'
import type {
  ChannelContext,
  ExtensionContext,
  Json,
  LoginContext,
  LoginQuestion,
  ToolsetContext,
} from '../../core/plugin/plugin.ts'

export interface TestContext extends ExtensionContext {
  /** The log lines of the extension, oldest first. */
  readonly logged: readonly { level: 'debug' | 'info' | 'warn' | 'error'; fields: object; message: string }[]
  /** For channels: ignores every report, because there are no deliveries. */
  undelivered: ChannelContext['undelivered']
  /** For channels: ignores every report, because there are no sessions. */
  moved: ChannelContext['moved']
  /** For toolsets: ignores every report. */
  reportHealth: ToolsetContext['reportHealth']
  /** For logins: resolves with the next of `answers`, and rejects after the last one. */
  ask: LoginContext['ask']
  /** The questions of a login, oldest first. */
  readonly asked: readonly LoginQuestion[]
  /** Aborts `signal`, as the gateway does when it stops. */
  abort(): void
}

/**
 * Creates a context for one test. For a channel, add its members: `{ ...createTestContext(), accountId, … }`.
 */
export function createTestContext({ answers = [] }: { answers?: readonly string[] } = {}): TestContext {
  // As in a gateway.
  writeBigInts()
  const controller = new AbortController()
  const values = new Map<string, Json>()
  const logged: TestContext['logged'][number][] = []
  const asked: LoginQuestion[] = []
  const write = (level: TestContext['logged'][number]['level']) => (fields: object, message: string) =>
    void logged.push({ level, fields, message })
  return {
    logged,
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    signal: controller.signal,
    abort: () => controller.abort(),
    undelivered: async () => undefined,
    moved: async () => undefined,
    reportHealth: () => undefined,
    asked,
    async ask(question) {
      const answer = answers[asked.push(question) - 1]
      if (answer === undefined) throw new Error(`createTestContext has no answer to: ${question.question}`)
      return answer
    },
    state: {
      get: async (key) => values.get(key),
      set: async (key, value) => void values.set(key, structuredClone(value)),
      delete: async (key) => void values.delete(key),
    },
  }
}
