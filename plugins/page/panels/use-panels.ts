// Loads which panels the extensions bring.
import { useApp } from '../app/app.ts'
import { type Loaded, useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import type { PanelInfo } from './bridge.ts'

export function usePanels(): Loaded<{ items: PanelInfo[] }> {
  const { call } = useApp()
  return useLoaded('panels', () => call('GET /api/panels'))
}

/** What follows the name of the view in the address of a panel. */
export const itemOf = ({ kind, name }: Pick<PanelInfo, 'kind' | 'name'>): string => `${kind}/${name}`

export const linkTo = (panel: PanelInfo): string => formatFragment({ view: 'panels', item: itemOf(panel) })
