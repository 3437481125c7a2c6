// Where a new mapping goes in the list: of those for the same hook, the first that matches a request is used.
import JSON5 from 'json5'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { Field } from '../ui/fields.tsx'

export interface Mapping {
  id?: string
  match?: { path?: string }
}

/** A mapping of the configuration that may match the same requests. */
export interface Rival {
  index: number
  id: string | undefined
}

export interface Places {
  /** The id of the mapping that a new one replaces, because it has the same. */
  replaced: string | undefined
  rivals: readonly Rival[]
  reload(): Promise<void>
}

/** The places that a mapping, as JSON5, may have. None for a reader who may not save it. */
export function usePlaces(mapping: string): Places {
  const { call } = useApp()
  const { may } = useMe()
  const config = useLoaded('configured mappings', async () => {
    const { hooks } = (may('POST /api/config/file') ? await call('GET /api/config') : {}) as {
      hooks?: { mappings?: readonly Mapping[] }
    }
    return hooks?.mappings ?? []
  })
  const mappings = config.value.value ?? []
  const { id, match } = parse(mapping)
  const isReplaced = id !== undefined && mappings.some((one) => one.id === id)
  return {
    replaced: isReplaced ? id : undefined,
    rivals: mappings.flatMap((one, index) => (isForHook(one, match?.path) ? [{ index, id: one.id }] : [])),
    reload: config.reload,
  }
}

function parse(mapping: string): Mapping {
  try {
    return JSON5.parse<Mapping>(mapping)
  } catch {
    return {}
  }
}

/** A mapping without a path is for every hook. */
function isForHook({ match }: Mapping, path: string | undefined): boolean {
  const normalize = (one: string): string => one.replaceAll(/^\/+|\/+$/g, '')
  return match?.path === undefined || path === undefined || normalize(match.path) === normalize(path)
}

const nameOf = ({ index, id }: Rival): string => id ?? `hooks.mappings[${index}]`

interface PlaceFieldProps {
  places: Places
  /** The mapping before which the new one goes; undefined: it goes behind all others. */
  before: Rival | undefined
  onChange(before: Rival | undefined): void
}

export function PlaceField({ places: { replaced, rivals }, before, onChange }: PlaceFieldProps) {
  if (replaced !== undefined)
    return <p class="muted small">{`It replaces the mapping ${replaced}, which has the same id, in its place.`}</p>
  const last = rivals.at(-1)
  if (!last) return null
  return (
    <Field
      label="Place"
      hint="For one hook, the mappings are tried in their order. Saving warns if one is never reached."
    >
      {(fieldId) => (
        <select
          id={fieldId}
          class="input"
          value={before === undefined ? '' : String(before.index)}
          onChange={({ currentTarget: { value } }) =>
            onChange(rivals.find(({ index }) => value !== '' && index === Number(value)))
          }
        >
          {rivals.map((rival, order) => (
            <option key={rival.index} value={rival.index}>
              {`${order === 0 ? 'First, before' : 'Before'} ${nameOf(rival)}`}
            </option>
          ))}
          <option value="">{`Last, after ${nameOf(last)}`}</option>
        </select>
      )}
    </Field>
  )
}
