// Chats with an agent: a message starts a run in the session, and the reply is streamed to the client.
import type { ReplyStreams } from '../../agents/reply-stream.ts'
import type { Runs } from '../../runs/runs.ts'
import type { RunSpec } from '../../store/run-spec.ts'
import type { Principal } from '../../http/access.ts'
import type { AuditSource, NewRun, RunStatus, StoredRun } from '../../store/store.ts'
import { clientOf, ownersFor } from '../../tools/reach.ts'
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

/** Who chats. */
export interface ChatCaller {
  principal: Principal
  source: AuditSource
}

export type Chat = (request: ChatRequest, caller: ChatCaller, onDelta: (delta: ChatDelta) => void) => Promise<ChatReply>

interface ChatDeps {
  runs: Pick<Runs, 'accept' | 'waitForEnd'>
  agents: SessionOwners
  replyStreams: ReplyStreams
  createId: () => string
  maxAttempts: number
}

export function createChat({ runs, agents, replyStreams, createId, maxAttempts }: ChatDeps): Chat {
  return async ({ sessionKey, text }, { principal, source }, onDelta) => {
    const run: NewRun = {
      id: createId(),
      kind: 'chat',
      ...resolveSession(ownersFor(agents, principal), sessionKey),
      spec: specOf(text, principal),
      maxAttempts,
    }
    const unsubscribe = replyStreams.listen(run.id, (delta) => onDelta({ runId: run.id, text: delta }))
    try {
      const audit = { ...source, action: 'chat.send', target: run.id, agentId: run.agentId }
      await runs.accept({ at: Date.now(), runs: [run], audit })
      onDelta({ runId: run.id, text: '' })
      return replyOf(run, await runs.waitForEnd(run.id, Number.POSITIVE_INFINITY))
    } finally {
      unsubscribe()
    }
  }
}

const specOf = (message: string, principal: Principal): RunSpec => ({
  message,
  // A client that may chat is an operator, so it is trusted.
  origin: { kind: 'chat', name: 'chat', trusted: true, client: clientOf(principal) },
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
