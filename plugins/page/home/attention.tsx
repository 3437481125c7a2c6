// What needs the reader now: calls to approve, budgets near their limits, failed runs, people who wait, channels that
// are down, messages that were not sent, transforms that do not run, warnings about the configuration.
import type { OperationName, Reply } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { useLive } from '../app/use-live.ts'
import { usePolling } from '../app/use-polling.ts'
import { useSoon } from '../app/use-soon.ts'
import { formatShare, nearShare, subjectOf, usesOf } from '../ui/budgets.ts'
import { plural } from '../ui/format.ts'
import { Icon } from '../ui/icons.tsx'
import { Notice, Section } from '../ui/parts.tsx'

interface Need {
  text: string
  detail?: string | undefined
  tone: 'bad' | 'warn'
  href: string
}

/** How often what is needed is loaded, at least, and at most while it changes. */
const [pollMs, reloadMs] = [10_000, 500]
/** Older failures are in the list of runs. */
const failuresForMs = 24 * 3_600_000

export function Attention() {
  const { call } = useApp()
  const { may } = useMe()
  /** What the role of the reader does not include is left out. */
  const ifMay = async (operation: OperationName, find: () => Promise<Need[]>): Promise<Need[]> =>
    may(operation) ? await find() : []
  const findRuns = (status: 'failed' | 'timed_out') => call('GET /api/runs', { query: { status, limit: 200 } })
  const findDeliveries = async (status: 'failed' | 'unknown') =>
    needsOfOutbox(await call('GET /api/outbox', { query: { status, limit: 200 } }), status)
  const needs = useLoaded('needs', async () => {
    const all = await Promise.all([
      call('GET /api/approvals', { query: { status: 'waiting', limit: 200 } }).then(needsOfApprovals),
      ifMay('GET /api/budgets', async () => needsOfBudgets(await call('GET /api/budgets'))),
      Promise.all([findRuns('failed'), findRuns('timed_out')]).then(needsOfRuns),
      ifMay('GET /api/pairings', async () => needsOfPairings(await call('GET /api/pairings'))),
      ifMay('GET /api/channels', async () => needsOfChannels(await call('GET /api/channels'))),
      findDeliveries('unknown'),
      findDeliveries('failed'),
      ifMay('GET /api/extensions', async () => needsOfExtensions(await call('GET /api/extensions'))),
      ifMay('GET /api/hooks', async () => needsOfHooks(await call('GET /api/hooks'))),
      ifMay('GET /api/config/warnings', async () =>
        needsOfWarnings(
          await call('GET /api/config/warnings'),
          may('GET /api/config/file') ? { view: 'config' } : { view: 'log', query: { component: 'config' } },
        ),
      ),
    ])
    return all.flat()
  })
  usePolling(pollMs, () => void needs.reload())
  const reloadSoon = useSoon(reloadMs, needs.reload)
  useLive('outbox', (changes) => {
    if (changes.some(({ status }) => status === 'failed' || status === 'unknown')) reloadSoon()
  })
  useLive('approval', reloadSoon)
  if (needs.state.value === 'failed') return <Notice tone="bad">{needs.error.value}</Notice>
  if (!needs.value.value) return null
  const items = needs.value.value
  return (
    <Section title="Needs you now">
      {items.length === 0 ? (
        <p class="line muted">
          <span class="dot good" />{' '}
          {may('GET /api/channels') ? 'Nothing. Everything works as configured.' : 'Nothing of what your role shows.'}
        </p>
      ) : (
        <ul class="rows card" aria-label="Needs you now">
          {items.map(({ text, detail, tone, href }) => (
            <li key={`${text} ${href}`}>
              <a class="row need-row" href={href}>
                <span class={tone === 'bad' ? 'bad' : 'warning'}>
                  <Icon name="warning" />
                </span>
                <span>
                  <strong>{text}</strong> <span class="muted">{detail}</span>
                </span>
                <span class="muted">
                  <Icon name="open" />
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

/** So many of one kind are listed each. The others are one line, so that they do not hide the other kinds. */
const maxListed = 5

function listSome(needs: readonly Need[], more: (count: number) => Pick<Need, 'text' | 'href'>): Need[] {
  const others = needs.length - maxListed
  return others <= 1 ? [...needs] : [...needs.slice(0, maxListed), { ...more(others), tone: 'warn' }]
}

const needsOfApprovals = ({ items, next }: Reply<'GET /api/approvals'>): Need[] =>
  listSome(
    items.map(({ id, agentId, tool, origin }) => ({
      text: `The agent ${agentId} asks to call ${tool}`,
      detail: origin,
      tone: 'warn',
      href: formatFragment({ view: 'approvals', item: id, query: { status: 'waiting' } }),
    })),
    (count) => ({
      text: `${next === undefined ? '' : 'More than '}${plural(count, 'more call')} must be approved`,
      href: formatFragment({ view: 'approvals', query: { status: 'waiting' } }),
    }),
  )

function needsOfBudgets({ items }: Reply<'GET /api/budgets'>): Need[] {
  const href = formatFragment({ view: 'usage' })
  return items.flatMap((budget): Need[] => {
    const near = usesOf(budget).filter(({ share }) => share >= nearShare)
    if (near.length === 0 && !budget.isUsedUp) return []
    const share = Math.max(...near.map((use) => use.share))
    return [
      {
        text: `The budget of ${subjectOf(budget)} is ${budget.isUsedUp ? 'used up' : `used by ${formatShare(share)}`}`,
        detail: `${near.map(({ text }) => text).join(', ')} per ${budget.per}`,
        tone: budget.isUsedUp ? 'bad' : 'warn',
        href,
      },
    ]
  })
}

function needsOfRuns(pages: readonly Reply<'GET /api/runs'>[]): Need[] {
  const open = pages
    .flatMap(({ items }) => items)
    .filter(({ retriedAs, endedAt }) => retriedAs === undefined && endOf({ endedAt }) > Date.now() - failuresForMs)
    .toSorted((one, other) => endOf(other) - endOf(one))
  const [first] = open
  if (!first) return []
  // Those that timed out have a status of their own, so one of them is shown alone.
  const isOneStatus = open.every(({ status }) => status === first.status)
  const href = formatFragment({ view: 'runs', query: { status: isOneStatus ? first.status : 'failed' } })
  // A page that ends with a failure of the last day is followed by others.
  const isMore = pages.some(({ items, next }) => next !== undefined && open.some(({ id }) => id === items.at(-1)?.id))
  const text = `${isMore ? 'More than ' : ''}${plural(open.length, 'run')} failed in the last day`
  return [{ text, detail: first.error?.message, tone: 'bad', href }]
}

function needsOfPairings({ items }: Reply<'GET /api/pairings'>): Need[] {
  const waiting = items.filter(({ status }) => status === 'pending')
  const href = formatFragment({ view: 'channels' })
  return listSome(
    waiting.map(({ name, sender, channel, code }) => ({
      text: `${name ?? sender} asks to write to the agent on ${channel}`,
      detail: code && `Code ${code}`,
      tone: 'warn',
      href,
    })),
    (count) => ({ text: `${plural(count, 'more sender')} ask to write to an agent`, href }),
  )
}

const endOf = ({ endedAt = '' }: { endedAt?: string | undefined }): number => Date.parse(endedAt)

const downStates: Readonly<Record<string, string>> = {
  failing: 'is down',
  unauthorized: 'is refused by its platform',
  login_required: 'needs a login',
}

const needsOfChannels = ({ accounts }: Reply<'GET /api/channels'>): Need[] =>
  accounts
    .filter(({ state }) => Object.hasOwn(downStates, state))
    .map(({ channel, accountId, state, reason }) => ({
      text: `The channel ${channel}${accountId === 'default' ? '' : ` (${accountId})`} ${downStates[state]}`,
      detail: reason,
      tone: 'bad',
      href: formatFragment({ view: 'channels' }),
    }))

function needsOfOutbox({ items, next }: Reply<'GET /api/outbox'>, status: 'failed' | 'unknown'): Need[] {
  const [first] = items
  if (!first) return []
  const messages = `${next === undefined ? '' : 'More than '}${plural(items.length, 'message')}`
  return [
    {
      text: status === 'failed' ? `${messages} could not be sent` : `${messages} may not have arrived`,
      detail: first.reason,
      tone: status === 'failed' ? 'bad' : 'warn',
      href: formatFragment({ view: 'outbox', query: { status } }),
    },
  ]
}

function needsOfExtensions({ problems, toolsets, jobs }: Reply<'GET /api/extensions'>): Need[] {
  const log = formatFragment({ view: 'log' })
  return [
    ...problems.map((problem): Need => ({
      text: 'An extension was not loaded',
      detail: problem,
      tone: 'bad',
      href: log,
    })),
    ...toolsets
      .filter(({ state }) => state !== 'open')
      .map(({ toolset, reason }): Need => ({
        text: `The toolset ${toolset} is not open`,
        detail: reason,
        tone: 'bad',
        href: formatFragment({ view: 'tools' }),
      })),
    ...jobs
      .filter(({ state }) => state === 'failing' || state === 'unauthorized')
      .map(({ preset, reason }): Need => ({
        text: `The job of the preset ${preset} does not run`,
        detail: reason,
        tone: 'bad',
        href: log,
      })),
  ]
}

const needsOfHooks = ({ items }: Reply<'GET /api/hooks'>): Need[] =>
  items.flatMap(({ name = '', mappings }) =>
    mappings.flatMap(({ id, transform }): Need[] =>
      transform?.state === 'failed' || transform?.state === 'open'
        ? [
            {
              text: `The transform of ${id} does not run`,
              detail: transform.problem,
              tone: 'bad',
              href: formatFragment({ view: 'hooks', item: name }),
            },
          ]
        : [],
    ),
  )

/** A broken transform is listed with its hook. */
function needsOfWarnings(
  { items }: Reply<'GET /api/config/warnings'>,
  place: Parameters<typeof formatFragment>[0],
): Need[] {
  const href = formatFragment(place)
  return listSome(
    items
      .filter(({ code }) => code !== 'transform_broken')
      .map(({ path, line, problem }) => ({
        text: path || 'The configuration',
        detail: `${problem}${line === undefined ? '' : ` (line ${line})`}`,
        tone: 'warn',
        href,
      })),
    (count) => ({ text: `${plural(count, 'more warning')} about the configuration`, href }),
  )
}
