// One session: its transcript, the events that wait, and a chat with streaming, tool calls and stop.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Reply } from '../api/client.ts'
import { ApiError } from '../api/client.ts'
import { messageOf, useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import type { Topics } from '../app/live.ts'
import { useLive } from '../app/use-live.ts'
import { useLivePages } from '../app/use-live-pages.ts'
import { Confirm } from '../ui/dialog.tsx'
import { plural } from '../ui/format.ts'
import { DetailHead, LoadedDetail } from '../ui/list.tsx'
import { titleOf } from '../ui/run-title.ts'
import { hiddenText, Badge, Button, Empty, Notice, Section, Status, Time } from '../ui/parts.tsx'

type SessionReply = Reply<'GET /api/sessions/{key}'>
type Line = SessionReply['transcript'][number]
type Step = Topics['step']

interface SessionProps {
  id: string
  back: string
  onDeleted(): Promise<void>
}

export function Session({ id, back, onDeleted }: SessionProps) {
  const { call } = useApp()
  const session = useLoaded(`session ${id}`, async () => {
    try {
      return await call('GET /api/sessions/{key}', { path: { key: id } })
    } catch (error) {
      // A chat may begin a session.
      if (error instanceof ApiError && error.status === 404) return null
      throw error
    }
  })
  const { value } = session.value
  const key = value?.key ?? id
  useLive('run', (changes) => {
    const ended = changes.some((run) => run.sessionKey === key && run.endedAt !== undefined)
    if (ended) void session.reload()
  })
  useLive('event', (changes) => {
    if (changes.some(({ sessionKey }) => sessionKey === key)) void session.reload()
  })
  return (
    <LoadedDetail of={session} noun="session" back={back}>
      {(value) => (
        <>
          <DetailHead
            title={key}
            back={back}
            actions={
              <>
                <a class="button" href={formatFragment({ view: 'runs', query: { sessionKey: key } })}>
                  Runs
                </a>
                {value && <Delete sessionKey={value.key} onDeleted={onDeleted} />}
              </>
            }
          />
          <Conversation sessionKey={key} session={value} reload={session.reload} />
        </>
      )}
    </LoadedDetail>
  )
}

/** Nothing for readers whose role does not include it. */
function Delete({ sessionKey, onDeleted }: { sessionKey: string; onDeleted(): Promise<void> }) {
  const { call, router, toasts } = useApp()
  const { may } = useMe()
  const [isAsking, setAsking] = useState(false)
  if (!may('DELETE /api/sessions/{key}')) return null
  const remove = async (): Promise<void> => {
    await call('DELETE /api/sessions/{key}', { path: { key: sessionKey } })
    toasts.show({ text: 'The session is deleted.', tone: 'good' })
    router.go({ view: 'sessions' }, { replace: true })
    await onDeleted()
  }
  return (
    <>
      <Button kind="danger" onClick={() => setAsking(true)}>
        Delete
      </Button>
      {isAsking && (
        <Confirm
          title="Delete the session?"
          text="Its transcript, its waiting events and its runs are deleted. Nothing brings them back."
          action="Delete the session"
          onConfirm={remove}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}

interface ConversationProps {
  sessionKey: string
  session: SessionReply | null
  reload(): Promise<void>
}

/** A message that was sent from here, and what has come back of its run so far. */
interface Exchange {
  text: string
  runId?: string
  reply: string
  steps: readonly Step[]
  problem?: string
}

function Conversation({ sessionKey, session, reload }: ConversationProps) {
  const { live } = useApp()
  const { mayChat } = useMe()
  const [exchange, setExchange] = useState<Exchange>()
  const end = useRef<HTMLDivElement>(null)
  const lines = session?.transcript ?? []

  useLive('chat.delta', (deltas) =>
    setExchange((current) => {
      if (!current) return current
      const runId = current.runId ?? deltas[0]?.runId
      const added = deltas.filter((delta) => delta.runId === runId).map(({ text }) => text)
      return { ...current, ...(runId !== undefined && { runId }), reply: current.reply + added.join('') }
    }),
  )
  useLive('step', (changes) =>
    setExchange((current) => {
      const own = changes.filter(({ runId, kind }) => runId === current?.runId && kind === 'tool')
      return current && own.length > 0 ? { ...current, steps: mergeSteps(current.steps, own) } : current
    }),
  )
  useEffect(
    () => end.current?.scrollIntoView({ block: 'end' }),
    [lines.length, exchange?.reply.length, exchange?.steps.length],
  )

  const send = async (text: string): Promise<void> => {
    setExchange({ text, reply: '', steps: [] })
    try {
      const { error } = await live.call<ChatReply>('chat.send', { sessionKey, text })
      await reload()
      setExchange(error && { text, reply: '', steps: [], problem: error.message })
    } catch (error) {
      await reload()
      setExchange({ text, reply: '', steps: [], problem: messageOf(error) })
    }
  }
  const isBusy = exchange !== undefined && exchange.problem === undefined
  return (
    <div class="conversation">
      <div class="body">
        {session?.lastRoute && (
          <p class="muted small">
            {`Replies go to ${session.lastRoute.to} on ${session.lastRoute.channel}. The last message came `}
            <Time at={session.lastRoute.at} />.
          </p>
        )}
        <Transcript session={session} />
        {exchange ? <Current exchange={exchange} /> : <Underway sessionKey={sessionKey} />}
        {session && session.waitingEvents > 0 && <Waiting session={session} />}
        {lines.length === 0 && !exchange && session?.waitingEvents === undefined && (
          <Empty title="Nothing was said here yet">
            {mayChat && <p>Write a message. The agent answers here, and its reply is not sent to a channel.</p>}
          </Empty>
        )}
        <div ref={end} />
      </div>
      {mayChat && <Compose isBusy={isBusy} runId={exchange?.runId} onSend={send} />}
    </div>
  )
}

interface ChatReply {
  runId: string
  status: string
  reply?: string
  error?: { message: string }
}

function mergeSteps(known: readonly Step[], changes: readonly Step[]): Step[] {
  const byNumber = new Map([...known, ...changes].map((step) => [step.number, step]))
  return [...byNumber.values()].toSorted((one, other) => one.number - other.number)
}

/** The transcript. Earlier lines are loaded when they are asked for. */
function Transcript({ session }: { session: SessionReply | null }) {
  const { call } = useApp()
  const [earlier, setEarlier] = useState<readonly Line[]>([])
  const [next, setNext] = useState<string>()
  const [isStarted, setStarted] = useState(false)
  if (!session) return null
  const cursor = isStarted ? next : session.next
  const showEarlier = async (): Promise<void> => {
    const page = await call('GET /api/sessions/{key}', { path: { key: session.key }, query: { cursor } })
    setEarlier([...page.transcript, ...earlier])
    setNext(page.next)
    setStarted(true)
  }
  return (
    <>
      {cursor !== undefined && (
        <div class="more">
          <Button kind="quiet" onClick={showEarlier}>
            Show earlier lines
          </Button>
        </div>
      )}
      <ol class="transcript" aria-label="Transcript">
        {[...earlier, ...session.transcript].map((line, index) => (
          <Message key={`${line.runId} ${line.at} ${index}`} role={line.role} text={line.text ?? hiddenText}>
            <a href={formatFragment({ view: 'runs', item: line.runId })} class="muted">
              <Time at={line.at} />
            </a>
          </Message>
        ))}
      </ol>
    </>
  )
}

interface MessageProps {
  role: string
  text: string
  children?: preact.ComponentChildren
}

const Message = ({ role, text, children }: MessageProps) => (
  <li class={`message ${role === 'user' ? 'user' : 'agent'}`}>
    <div class="from small">
      <strong>{role === 'user' ? 'Message' : role === 'assistant' ? 'Agent' : role}</strong> {children}
    </div>
    <div class="text break">{text}</div>
  </li>
)

function Current({ exchange: { text, reply, steps, problem } }: { exchange: Exchange }) {
  return (
    <ol class="transcript" aria-label="The current message">
      <Message role="user" text={text} />
      {steps.map(({ number, tool, status, verdict }) => (
        <li key={number} class="line call">
          <Badge>{`tool ${tool ?? ''}`}</Badge>
          <Status of={verdict === 'deny' ? 'deny' : status} />
        </li>
      ))}
      {problem === undefined ? (
        <Message role="assistant" text={reply}>
          <span class="dot info live" />
        </Message>
      ) : (
        <li>
          <Notice tone="bad">{problem}</Notice>
        </li>
      )}
    </ol>
  )
}

/** The runs that work in the session now, such as one of a webhook, or of a chat before the page was reloaded. */
function Underway({ sessionKey }: { sessionKey: string }) {
  const { call } = useApp()
  const { may } = useMe()
  const { rows } = useLivePages({
    topic: 'run',
    filter: { sessionKey, status: 'running' as const },
    load: (query) => call('GET /api/runs', { query }),
    valuesOf: ({ sessionKey, status }) => ({ sessionKey, status }),
  })
  return (
    <>
      {rows.value.map((run) => (
        <div key={run.id} class="card line underway">
          <span class="dot info live" />
          <span class="break">
            <strong>{titleOf(run)}</strong> works since <Time at={run.startedAt ?? run.createdAt} />
          </span>
          <a class="button quiet" href={formatFragment({ view: 'runs', item: run.id })}>
            Show it
          </a>
          {may('POST /api/runs/{id}/cancel') && (
            <Button
              kind="danger"
              icon="stop"
              onClick={() => call('POST /api/runs/{id}/cancel', { path: { id: run.id } })}
            >
              Stop
            </Button>
          )}
        </div>
      ))}
    </>
  )
}

function Waiting({ session: { events, waitingEvents } }: { session: SessionReply }) {
  return (
    <Section title={`${plural(waitingEvents, 'event')} for the next run`}>
      {events.map(({ id, text, mode, at }) => (
        <div key={id} class="card event">
          <div class="line small muted">
            <Time at={at} /> <Badge>{mode === 'now' ? 'wakes the agent' : 'waits for the heartbeat'}</Badge>
          </div>
          <div class="break">{text}</div>
        </div>
      ))}
    </Section>
  )
}

interface ComposeProps {
  isBusy: boolean
  runId: string | undefined
  onSend(text: string): Promise<void>
}

function Compose({ isBusy, runId, onSend }: ComposeProps) {
  const { call } = useApp()
  const [text, setText] = useState('')
  const submit = (): void => {
    const given = text.trim()
    if (given === '' || isBusy) return
    setText('')
    void onSend(given)
  }
  const stop = async (): Promise<void> => {
    if (runId !== undefined) await call('POST /api/runs/{id}/cancel', { path: { id: runId } })
  }
  return (
    <form
      class="compose"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <textarea
        class="input"
        rows={2}
        data-search
        aria-label="Message"
        placeholder="Write to the agent. Enter sends, Shift and Enter begin a new line."
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          submit()
        }}
      />
      {isBusy ? (
        <Button kind="danger" icon="stop" disabled={runId === undefined} onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button kind="primary" icon="send" type="submit" disabled={text.trim() === ''}>
          Send
        </Button>
      )}
    </form>
  )
}
