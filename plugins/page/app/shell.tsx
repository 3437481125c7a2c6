// The frame around the views: navigation, connection state, messages, shortcuts; or the sign-in.
import type { FunctionComponent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Dialog } from '../ui/dialog.tsx'
import { formatClock } from '../ui/format.ts'
import { Icon, Mark } from '../ui/icons.tsx'
import { PanelLinks } from '../panels/links.tsx'
import { Button, Empty, Loading, LoadingOf, Time } from '../ui/parts.tsx'
import { messageOf, useApp } from './app.ts'
import { MeContext, readMe, useMe } from './me.ts'
import { useLoaded } from './pages.ts'
import { formatFragment } from './router.ts'
import { SignIn } from './sign-in.tsx'
import { nextTheme, useTheme } from './theme.ts'
import { firstView, type View, viewsFor } from './views.ts'

export function Page() {
  const { session } = useApp()
  return session.credential.value === undefined ? <SignIn /> : <SignedIn />
}

/** What the page shows depends on the role of the reader, which a reload of the configuration may change. */
function SignedIn() {
  const { call, live } = useApp()
  const reader = useLoaded('me', async () => readMe(await call('GET /api/me')))
  useEffect(() => {
    live.open()
    return () => live.close()
  }, [live])
  return (
    <LoadingOf of={reader} what="The page">
      {(me) => (
        <MeContext.Provider value={me}>
          <Shell />
        </MeContext.Provider>
      )}
    </LoadingOf>
  )
}

function Shell() {
  const { router, keys } = useApp()
  const me = useMe()
  const views = viewsFor(me)
  const [isHelpOpen, setHelpOpen] = useState(false)
  const [isMenuOpen, setMenuOpen] = useState(false)
  const name = router.location.value.view || firstView
  const view = views.find((one) => one.name === name)

  useEffect(() => {
    const removals = [
      keys.add({ keys: '?', name: 'Show the shortcuts', run: () => setHelpOpen(true) }),
      keys.add({ keys: '/', name: 'Search in the list', run: focusSearch }),
      keys.add({ keys: 'j', name: 'Next row of a list, also ↓', run: focusFirstRow }),
      keys.add({ keys: 'k', name: 'Previous row of a list, also ↑', run: focusFirstRow }),
      ...views.map(({ name, title, letter }) =>
        keys.add({ keys: `g ${letter}`, name: `Go to ${title}`, run: () => router.go({ view: name }) }),
      ),
    ]
    return () => removals.forEach((remove) => remove())
  }, [keys, router, me])
  useEffect(() => {
    document.title = view ? `${view.title} · svc-gateway` : 'svc-gateway'
    setMenuOpen(false)
  }, [view])

  return (
    <div class="shell">
      <header class="topbar">
        <Brand />
        <Connection />
        <Button kind="quiet" icon="menu" label="Menu" onClick={() => setMenuOpen(true)} />
      </header>
      <Navigation
        views={views}
        current={name}
        isOpen={isMenuOpen}
        onClose={() => setMenuOpen(false)}
        onHelp={() => setHelpOpen(true)}
      />
      <main class="main">
        <Stale />
        {view ? <LazyView key={view.name} view={view} /> : <Unknown />}
      </main>
      {isHelpOpen && <Shortcuts onClose={() => setHelpOpen(false)} />}
      <Toasts />
    </div>
  )
}

const focusSearch = (): void => document.querySelector<HTMLElement>('[data-search]')?.focus()

/** Within a list, the list itself moves the focus. */
const focusFirstRow = (): void => document.querySelector<HTMLElement>('ul.rows a.row')?.focus()

const Brand = () => (
  <a class="brand" href={formatFragment({ view: firstView })}>
    <Mark />
    svc-gateway
  </a>
)

interface NavigationProps {
  views: readonly View[]
  current: string
  isOpen: boolean
  onClose(): void
  onHelp(): void
}

function Navigation({ views, current, isOpen, onClose, onHelp }: NavigationProps) {
  const { router, session } = useApp()
  const theme = useTheme()
  const groups = Map.groupBy(views, ({ group }) => group)
  return (
    <nav class={`side${isOpen ? ' open' : ''}`} aria-label="Views">
      <div class="line">
        <Brand />
        {isOpen && <Button kind="quiet" icon="close" label="Close the menu" onClick={onClose} />}
      </div>
      {[...groups].map(([group, members]) =>
        group === undefined ? null : (
          <>
            {group !== '' && <h2>{group}</h2>}
            {members.map(({ name, title, icon }) => (
              <a
                key={name}
                class="nav"
                href={formatFragment({ view: name })}
                aria-current={name === current ? 'page' : undefined}
                onClick={onClose}
              >
                <Icon name={icon} />
                {title}
              </a>
            ))}
          </>
        ),
      )}
      <PanelLinks current={current === 'panels' ? router.location.value.item : undefined} onClick={onClose} />
      <footer>
        <Connection />
        <Reader />
        <div class="tools">
          <Button
            kind="quiet"
            icon={theme.value === 'dark' ? 'sun' : 'moon'}
            label={theme.value === 'dark' ? 'Use light colors' : 'Use dark colors'}
            onClick={() => void (theme.value = nextTheme(theme.value))}
          />
          <Button kind="quiet" icon="keyboard" label="Shortcuts" onClick={onHelp} />
          <Button kind="quiet" icon="exit" label="Sign out" onClick={() => session.signOut()} />
        </div>
      </footer>
    </nav>
  )
}

/** Who is signed in. The gateway's own credential needs no mention. */
function Reader() {
  const { name, role, agents, expiresAt } = useMe()
  if (name === ownName) return null
  return (
    <div class="muted small break">
      {name}, {role}
      {agents && ` of ${agents.join(', ')}`}
      {expiresAt !== undefined && (
        <>
          , expires <Time at={expiresAt} />
        </>
      )}
    </div>
  )
}

/** The name of the gateway's own credential. */
const ownName = 'gateway'

/** Whether what the page shows is live. */
function Connection() {
  const { live } = useApp()
  const [tone, text] = {
    connected: ['good', 'Live'],
    connecting: ['info live', 'Connecting'],
    offline: ['bad', 'Not connected'],
  }[live.state.value] as [string, string]
  return (
    <div class="connection" role="status">
      <span class={`dot ${tone}`} />
      {text}
    </div>
  )
}

function Stale() {
  const { live } = useApp()
  if (live.state.value !== 'offline') return null
  return (
    <div class="stale" role="alert">
      <Icon name="warning" />
      {`Not connected since ${formatClock(live.since.value)}. What you see may be out of date. The page reconnects by itself.`}
    </div>
  )
}

function Unknown() {
  return (
    <>
      <header class="bar">
        <h1>Nothing here</h1>
      </header>
      <Empty title="There is no such view, or your role does not include it">
        <a href={formatFragment({ view: firstView })}>Go to the start</a>
      </Empty>
    </>
  )
}

/** Loads the code of a view when it is first opened. */
function LazyView({ view }: { view: View }) {
  const [component, setComponent] = useState<{ View: FunctionComponent }>()
  const [problem, setProblem] = useState<string>()
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    let isCurrent = true
    view.load().then(
      (View) => isCurrent && setComponent({ View }),
      (error: unknown) => isCurrent && setProblem(messageOf(error)),
    )
    return () => void (isCurrent = false)
  }, [view])
  // A screen reader continues in the new view.
  useEffect(() => place.current?.focus({ preventScroll: true }), [])
  if (problem !== undefined)
    return (
      <Empty title="The view could not be loaded">
        <p>The gateway may have been updated since this page was opened.</p>
        <p class="small">{problem}</p>
        <Button kind="primary" onClick={() => location.reload()}>
          Reload the page
        </Button>
      </Empty>
    )
  return (
    <div class="view" ref={place} tabIndex={-1}>
      {component ? <component.View /> : <Loading />}
    </div>
  )
}

function Shortcuts({ onClose }: { onClose(): void }) {
  const { keys } = useApp()
  const fixed = [{ keys: 'Enter', name: 'Open the row' }]
  return (
    <Dialog title="Shortcuts" onClose={onClose}>
      <dl class="facts">
        {[...keys.list(), ...fixed].map(({ keys, name }) => (
          <>
            <dt>
              {keys.split(' ').map((key) => (
                <>
                  <kbd>{key}</kbd>{' '}
                </>
              ))}
            </dt>
            <dd>{name}</dd>
          </>
        ))}
      </dl>
    </Dialog>
  )
}

function Toasts() {
  const { toasts } = useApp()
  return (
    <div class="toasts" role="status">
      {toasts.items.value.map(({ id, text, tone, link }) => (
        <div class="toast" key={id}>
          <span class={`dot ${tone}`} />
          <div>
            {text} {link && <a href={link.href}>{link.text}</a>}
          </div>
          <Button kind="quiet" icon="close" label="Dismiss" onClick={() => toasts.remove(id)} />
        </div>
      ))}
    </div>
  )
}
