// Saves the mapping in the configuration file, after the reader has seen the difference.
import JSON5 from 'json5'
import { useApp } from '../app/app.ts'
import { SaveConfig } from '../ui/save-config.tsx'
import type { Mapping, Rival } from './place.tsx'

interface SaveMappingProps {
  /** As JSON5. */
  mapping: string
  /** Absent: it goes behind the others. */
  before: Rival | undefined
  onClose(): void
}

export function SaveMapping({ mapping, before, onClose }: SaveMappingProps) {
  const { call } = useApp()
  const change = async (base: string): Promise<string> => {
    const value = JSON5.parse<Mapping>(mapping)
    const { key, ...how } = findPlace(base, value, before)
    const edits = [{ path: ['hooks', 'mappings', key], value, ...how }]
    const { text } = await call('POST /api/config/edit', { body: { text: base, edits } })
    return text
  }
  return <SaveConfig title="Save the mapping" change={change} onClose={onClose} />
}

/** A mapping with the same id is replaced. The file may have changed, so that the others are found by their ids, too. */
function findPlace(text: string, { id }: Mapping, before: Rival | undefined): { key: string; before?: true } {
  const { hooks } = JSON5.parse<{ hooks?: { mappings?: readonly Mapping[] } }>(text)
  const mappings = hooks?.mappings ?? []
  const same = id === undefined ? -1 : mappings.findIndex((one) => one.id === id)
  if (same !== -1) return { key: String(same) }
  const next = before?.id === undefined ? before?.index : mappings.findIndex((one) => one.id === before.id)
  return next === undefined || !mappings[next] ? { key: '-' } : { key: String(next), before: true }
}
