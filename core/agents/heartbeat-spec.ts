// What a heartbeat asks of its agent: the spec of its run.
import type { RunSpec } from '../store/run-spec.ts'
import type { HeartbeatConfig } from './agents.ts'
import { defaultHeartbeatPrompt } from './prompt.ts'

/** What a periodic check asks of its agent. */
export const heartbeatSpec = (agentId: string, { prompt, model, target, to }: HeartbeatConfig): RunSpec => ({
  message: prompt ?? defaultHeartbeatPrompt,
  origin: { kind: 'heartbeat', name: agentId, trusted: true },
  model,
  deliver: target === 'none' ? null : { channel: target, to },
  wakeMode: 'next-heartbeat',
})
