// A tool API for tests: it finds nothing and refuses everything, except for what a test puts in.
import { InputError, type ToolApi } from '../../core/plugin/plugin.ts'

const refuse = async (): Promise<never> => {
  throw new InputError('This cannot be done here.')
}

/** The tool API of a gateway without sessions, agents, channels, files and schedules; `changes` replaces members. */
export function createTestToolApi(changes: Partial<ToolApi> = {}): ToolApi {
  return {
    sessions: { list: async () => [], status: async () => undefined, history: async () => undefined },
    agents: { list: () => [] },
    runs: { start: refuse, wait: async () => undefined },
    deliver: refuse,
    isReplyRoute: async () => false,
    isNamedUrl: () => false,
    workspace: { path: refuse, read: refuse, write: refuse, list: async () => [] },
    schedules: { add: refuse, list: async () => [], remove: async () => false, run: async () => undefined },
    gateway: {
      status: async () => ({ startedAt: new Date(0).toISOString(), queuedRuns: 0, agents: [], channels: [] }),
      config: () => ({}),
      patchConfig: refuse,
      reload: refuse,
    },
    traceHeaders: () => undefined,
    ...changes,
  }
}
