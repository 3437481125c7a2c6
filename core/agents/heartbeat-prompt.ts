// What a heartbeat run reads: its prompt, and the notes in HEARTBEAT.md.
import { describeError } from '../errors.ts'
import { createOutage, type Outage } from '../outage.ts'
import { isInputError } from '../plugin/errors.ts'
import type { Log } from '../plugin/plugin.ts'
import type { RunSpec } from '../store/run-spec.ts'
import { createWorkspace } from '../tools/workspace.ts'
import type { Agent, HeartbeatConfig } from './agents.ts'
import { eventBatch } from './prompt.ts'

const defaultPrompt = [
  'This is a periodic check. Read the events and notes below and act on what needs it.',
  'If nothing needs attention, answer HEARTBEAT_OK and nothing else.',
].join(' ')

export const createHeartbeatSpec = (agentId: string, { prompt, model, target, to }: HeartbeatConfig): RunSpec => ({
  message: prompt ?? defaultPrompt,
  origin: { kind: 'heartbeat', name: agentId, trusted: true },
  model,
  deliver: target === 'none' ? null : { channel: target, to },
  wakeMode: 'next-heartbeat',
})

const notesFile = 'HEARTBEAT.md'

/**
 * Reads HEARTBEAT.md from the agent's workspace. Returns undefined if the file is missing or blank, and for every
 * session but the agent's main session. A file that cannot be read (a pipe, a link out of the workspace) counts as
 * missing, so that it does not stop the heartbeat.
 */
export async function readHeartbeatNotes(
  agent: Agent,
  sessionKey: string,
  outage?: Outage,
): Promise<string | undefined> {
  if (sessionKey !== agent.mainSession) return undefined
  try {
    const { data } = await createWorkspace(agent.workspace).read(notesFile, { maxBytes: eventBatch.characters })
    outage?.worked()
    return Buffer.from(data).toString('utf8').trim() || undefined
  } catch (error) {
    if (!isMissing(error)) outage?.failed(error)
    return undefined
  }
}

/** Logs once why the notes cannot be read. */
export const createNotesOutage = (agentId: string, log: Log): Outage =>
  createOutage(log, {
    level: 'warn',
    failed: 'HEARTBEAT.md cannot be read; the heartbeat goes on without it',
    worked: 'HEARTBEAT.md can be read again',
    describe: (error) => ({
      agentId,
      ...(isInputError(error) ? { reason: error.message } : describeError(error)),
    }),
  })

const isMissing = (error: unknown): boolean =>
  isInputError(error) && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT'
