// The view of panels: parts of the page that extensions bring, each in a frame that cannot reach the page around it.
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { useApp } from '../app/app.ts'
import { Empty, Facts, LoadingOf, Section } from '../ui/parts.tsx'
import { createBridge, type PanelInfo } from './bridge.ts'
import { itemOf, linkTo, usePanels } from './use-panels.ts'

export function Panels() {
  const { router } = useApp()
  const { item } = router.location.value
  const panels = usePanels()
  return (
    <LoadingOf of={panels} what="The panels">
      {({ items }) => {
        const panel = items.find((one) => itemOf(one) === item)
        if (panel) return <PanelFrame key={item} panel={panel} refresh={panels.reload} />
        return item === undefined ? (
          <List panels={items} />
        ) : (
          <Empty title="There is no such panel">
            <p>Its plugin is not loaded, or its channel or preset is not in use.</p>
          </Empty>
        )
      }}
    </LoadingOf>
  )
}

/** Says of each panel where it comes from and what it may do. */
function List({ panels }: { panels: readonly PanelInfo[] }) {
  if (panels.length === 0) return <Empty title="No extension brings a panel" />
  return (
    <>
      <header class="bar">
        <h1>Panels</h1>
      </header>
      <div class="scroll">
        <div class="content stack">
          {panels.map((panel) => (
            <Section key={itemOf(panel)} title={panel.title} action={<a href={linkTo(panel)}>Open</a>}>
              <Facts
                of={[
                  ['Extension', `${panel.kind} ${panel.name}`],
                  ['Plugin', panel.source],
                  ['Reads', panel.reads.join(', ') || 'nothing'],
                  ['Tools', panel.tools.join(', ') || 'none'],
                ]}
              />
            </Section>
          ))}
        </div>
      </div>
    </>
  )
}

interface PanelFrameProps {
  panel: PanelInfo
  refresh(): Promise<void>
}

function PanelFrame({ panel, refresh }: PanelFrameProps) {
  const { call } = useApp()
  const frame = useRef<HTMLIFrameElement>(null)
  const latest = useRef(panel)
  latest.current = panel
  const bridge = useMemo(
    () => createBridge({ call, panel: () => latest.current, refresh, go: (to) => void (location.hash = to) }),
    [call],
  )
  useEffect(() => {
    // The origin of a sandboxed frame is opaque, so no other target than `*` reaches it.
    const send = (message: object): void => frame.current?.contentWindow?.postMessage(message, '*')
    const sendTheme = (): void => send({ theme: document.documentElement.dataset['theme'] ?? '' })
    const receive = async ({ source, data }: MessageEvent<unknown>): Promise<void> => {
      if (source === null || source !== frame.current?.contentWindow) return
      if ((data as { ready?: unknown } | null)?.ready === true) sendTheme()
      const answer = await bridge(data)
      if (answer) send(answer)
    }
    const listener = (event: MessageEvent<unknown>): void => void receive(event)
    const observer = new MutationObserver(sendTheme)
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    addEventListener('message', listener)
    return () => {
      observer.disconnect()
      removeEventListener('message', listener)
    }
  }, [bridge])
  return (
    <>
      <header class="bar">
        <h1>{panel.title}</h1>
      </header>
      <iframe
        ref={frame}
        class="panel-frame"
        title={panel.title}
        sandbox="allow-scripts allow-forms"
        src={panel.path.slice(1)}
      />
    </>
  )
}
