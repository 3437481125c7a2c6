// The last messages on all channels: those that came in, as the runs that they started, and those that went out.
import type { Item } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { useLive } from '../app/use-live.ts'
import { useSoon } from '../app/use-soon.ts'
import { hiddenText, LoadingOf, Section, Status, Time } from '../ui/parts.tsx'

interface Message {
  id: string
  isIncoming: boolean
  /** The channel that it came from, or where it goes. */
  who: string
  /** Undefined: the role of the reader does not show it. */
  text: string | undefined
  status: string
  at: string
  href: string
}

const shown = 10
const reloadMs = 1_000

export function LastMessages() {
  const { call } = useApp()
  const messages = useLoaded('last messages', async () => {
    const limit = shown
    const [runs, deliveries] = await Promise.all([
      call('GET /api/runs', { query: { kind: 'channel', limit } }),
      call('GET /api/outbox', { query: { limit } }),
    ])
    return [...runs.items.map(incoming), ...deliveries.items.map(outgoing)]
      .toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at))
      .slice(0, shown)
  })
  const reloadSoon = useSoon(reloadMs, messages.reload)
  useLive('run', (changes) => {
    if (changes.some(({ kind }) => kind === 'channel')) reloadSoon()
  })
  useLive('outbox', reloadSoon)
  return (
    <Section title="Last messages">
      <LoadingOf of={messages} what="The messages">
        {(items) =>
          items.length === 0 ? (
            <p class="muted">None yet.</p>
          ) : (
            <ul class="rows card" aria-label="Last messages">
              {items.map(({ id, isIncoming, who, text, status, at, href }) => (
                <li key={id}>
                  <a class="row delivery-row" href={href}>
                    <Status of={status} />
                    <span>
                      {isIncoming ? 'from' : 'to'} <strong>{who}</strong>
                    </span>
                    <span class="muted grow">{text ?? hiddenText}</span>
                    <span class="muted end small">
                      <Time at={at} />
                    </span>
                  </a>
                </li>
              ))}
            </ul>
          )
        }
      </LoadingOf>
    </Section>
  )
}

/** A run has no copy of the message that started it. Its session has one, and its key says who wrote it. */
const incoming = ({ id, origin, status, createdAt, sessionKey }: Item<'GET /api/runs'>): Message => ({
  id,
  isIncoming: true,
  who: origin.name,
  text: sessionKey,
  status,
  at: createdAt,
  href: formatFragment({ view: 'sessions', item: sessionKey }),
})

const outgoing = ({ id, channel, to, text, reason, status, createdAt }: Item<'GET /api/outbox'>): Message => ({
  id,
  isIncoming: false,
  who: `${to} on ${channel}`,
  text: reason ?? text,
  status,
  at: createdAt,
  href: formatFragment({ view: 'outbox', item: id }),
})
