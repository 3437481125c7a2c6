// Chats with an agent: a message starts a run in the session, and the reply is streamed to the client.
import type { ReplyStreams } from '../../agents/reply-stream.ts'
import type { Runs } from '../../runs/runs.ts'
import type { RunSpec } from '../../store/run-spec.ts'
import type { NewRun, RunStatus, StoredRun } from '../../store/store.ts'
import { resolveSession, type SessionOwners } from '../../tools/session.ts'
import { notBlank, type Static, Type } from '../../typebox.ts'

export const ChatRequest = Type.Object({
  sessionKey: Type.Optional(Type.String({ pattern: notBlank })),
  text: Type.String({ pattern: notBlank }),
})
export type ChatRequest = Static<typeof ChatRequest>

/** A part of a reply. The first part is empty and is sent when the run is stored. */
export interface ChatDelta {
  runId: string
  text: string
}

export interface ChatReply {
  runId: string
  sessionKey: string
  /** `queued` or `running` when the gateway stopped before the run ended. The next start resumes it. */
  status: RunStatus
  reply?: string
  error?: StoredRun['result']['error']
}

export type Chat = (request: ChatRequest, onDelta: (delta: ChatDelta) => void) => Promise<ChatReply>

interface ChatDeps {
  runs: Pick<Runs, 'accept' | 'waitForEnd'>
  agents: SessionOwners
  replyStreams: ReplyStreams
  createId: () => string
  maxAttempts: number
}

export function createChat({ runs, agents, replyStreams, createId, maxAttempts }: ChatDeps): Chat {
  return async ({ sessionKey, text }, onDelta) => {
    const run: NewRun = {
      id: createId(),
      kind: 'chat',
      ...resolveSession(agents, sessionKey),
      spec: specOf(text),
      maxAttempts,
    }
    const unsubscribe = replyStreams.listen(run.id, (delta) => onDelta({ runId: run.id, text: delta }))
    try {
      await runs.accept({ at: Date.now(), runs: [run] })
      onDelta({ runId: run.id, text: '' })
      return replyOf(run, await runs.waitForEnd(run.id, Number.POSITIVE_INFINITY))
    } finally {
      unsubscribe()
    }
  }
}

const specOf = (message: string): RunSpec => ({
  message,
  // A client with the gateway's credential is an operator, so it is trusted.
  origin: { kind: 'chat', name: 'chat', trusted: true },
  deliver: null,
  wakeMode: 'next-heartbeat',
})

function replyOf({ id, sessionKey }: NewRun, ended: StoredRun | undefined): ChatReply {
  const { reply, error } = ended?.result ?? {}
  return {
    runId: id,
    sessionKey,
    status: ended?.status ?? 'queued',
    ...(reply !== undefined && { reply }),
    ...(error && { error }),
  }
}
