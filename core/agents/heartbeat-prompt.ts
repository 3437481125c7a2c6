// What a heartbeat run reads: its prompt, and the notes in HEARTBEAT.md.
import { describeError } from '../errors.ts'
import { createOutage, type Outage } from '../outage.ts'
import { isInputError } from '../plugin/errors.ts'
import type { Log } from '../plugin/plugin.ts'
import type { RunSpec } from '../store/run-spec.ts'
import type { Provenance } from '../store/provenance.ts'
import type { FileSources } from '../tools/file-sources.ts'
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

export interface HeartbeatNotes {
  text: string
  /** Undefined: no turn has written them. Whoever else writes into the workspace is trusted. */
  provenance: Provenance | undefined
}

export interface NotesDeps {
  files: Pick<FileSources, 'find'>
  outage?: Outage | undefined
}

/**
 * Reads HEARTBEAT.md from the agent's workspace. Returns undefined if the file is missing or blank, and for every
 * session but the agent's main session. A file that cannot be read (a pipe, a link out of the workspace) counts as
 * missing, so that it does not stop the heartbeat.
 */
export async function readHeartbeatNotes(
  { files, outage }: NotesDeps,
  agent: Agent,
  sessionKey: string,
): Promise<HeartbeatNotes | undefined> {
  if (sessionKey !== agent.mainSession) return undefined
  try {
    const file = await createWorkspace(agent.workspace).read(notesFile, { maxBytes: eventBatch.characters })
    outage?.worked()
    const text = Buffer.from(file.data).toString('utf8').trim()
    return text ? { text, provenance: await files.find(agent.workspace, notesFile, file) } : undefined
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
