// Runs a payload through a preset: its schema first, then its action.
import { createPayloadReader } from '../../core/hooks/preset-payload.ts'
import { isInputError } from '../../core/plugin/errors.ts'
import { loadExtensions } from '../../core/loader/registry.ts'
import type { ActionOverrides, Preset } from '../../core/plugin/plugin.ts'
import { createTestContext } from '../contracts.ts'

/** The result: the fields of the actions, `skipped`, or why the payload was refused. */
export type Judged = ActionOverrides[] | 'skipped' | { refused: string }

export interface LoadedPreset {
  preset: Preset
  judge(payload: unknown, headers?: Record<string, string>): Judged
  /** The service's id of the request, of a payload that is not refused. */
  idOf(payload: unknown, headers?: Record<string, string>): unknown
}

/** Whether a delivery id is one, is absent, or is a `RepeatKey`. */
export const isId = (id: unknown): boolean =>
  id === undefined || typeof id === 'string' || Object.values(id as object).every((text) => typeof text === 'string')

/** Loads the built-in presets, and those of plugins in a folder. */
export async function loadPresets({ plugins = [] as string[], dir = import.meta.dirname } = {}): Promise<
  ReadonlyMap<string, LoadedPreset>
> {
  const { presets, problems, close } = await loadExtensions({ plugins, dir, log: createTestContext().log })
  close()
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return new Map([...presets].map(([name, preset]) => [name, load(preset)]))
}

function load(preset: Preset): LoadedPreset {
  const read = createPayloadReader(preset.payload)
  return {
    preset,
    judge(received, headers = {}) {
      const { payload, problem } = read(received)
      if (problem !== undefined) return { refused: problem }
      try {
        const action = preset.toAction?.({ payload, headers, config: {} })
        return action === null ? 'skipped' : [action ?? {}].flat()
      } catch (error) {
        if (isInputError(error)) return { refused: error.message }
        throw error
      }
    },
    idOf(received, headers = {}) {
      const { payload, problem } = read(received)
      return problem === undefined ? preset.deliveryId?.({ payload, headers, config: {} }) : undefined
    },
  }
}
