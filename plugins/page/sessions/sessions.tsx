// The view of sessions: the most recently used first, and one with its transcript and a chat.
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { usePages } from '../app/pages.ts'
import { useLive } from '../app/use-live.ts'
import { useSoon } from '../app/use-soon.ts'
import { ListView } from '../ui/list-view.tsx'
import { Button } from '../ui/parts.tsx'
import { mainSessionOf } from '../ui/session-key.ts'
import { Session } from './session.tsx'

/** How soon a list that changes with every run is loaded again. */
const reloadMs = 1_000

export function Sessions() {
  const { call, router } = useApp()
  const { mayChat, agents } = useMe()
  const { agentId } = router.location.value.query
  const pages = usePages(
    `sessions ${agentId ?? ''}`,
    (cursor) => call('GET /api/sessions', { query: { cursor, agentId } }),
    ({ key }) => key,
  )
  useLive('run', useSoon(reloadMs, pages.reload))
  const [agent] = agents ?? []
  return (
    <ListView
      view="sessions"
      title="Sessions"
      nouns={['session', 'sessions']}
      pages={pages}
      actions={
        mayChat && (
          <Button
            kind="primary"
            icon="sessions"
            onClick={() => router.go({ view: 'sessions', item: agent === undefined ? 'main' : mainSessionOf(agent) })}
          >
            Chat
          </Button>
        )
      }
      filters={[{ name: 'agentId', label: 'Agent' }]}
      rowClass="session-row"
      row={({ key, agentId }) => (
        <>
          <span class="muted small">{agentId}</span>
          <strong>{shortKey(key)}</strong>
        </>
      )}
      timeOf={({ updatedAt }) => updatedAt}
      none={<p>A session is a conversation with an agent. A chat, a message on a channel or a webhook begins one.</p>}
      detail={(id, back) => <Session key={id} id={id} back={back} onDeleted={pages.reload} />}
    />
  )
}

/** A session key without the agent that it begins with. */
const shortKey = (key: string): string => key.replace(/^agent:[^:]*:/, '')
