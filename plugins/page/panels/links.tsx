// The panels in the navigation. Without any, there is nothing.
import { Icon } from '../ui/icons.tsx'
import { itemOf, linkTo, usePanels } from './use-panels.ts'

interface PanelLinksProps {
  /** The item of the address, if the current view is that of the panels. */
  current: string | undefined
  onClick(): void
}

export function PanelLinks({ current, onClick }: PanelLinksProps) {
  const items = usePanels().value.value?.items ?? []
  if (items.length === 0) return null
  return (
    <>
      <h2>Panels</h2>
      {items.map((panel) => (
        <a
          key={itemOf(panel)}
          class="nav"
          href={linkTo(panel)}
          aria-current={itemOf(panel) === current ? 'page' : undefined}
          onClick={onClick}
        >
          <Icon name="extensions" />
          {panel.title}
        </a>
      ))}
    </>
  )
}
