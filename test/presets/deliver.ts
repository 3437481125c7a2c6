// Runs a payload through a preset: its schema first, then its action.
import { isInputError } from '../../core/input-error.ts'
import { loadExtensions } from '../../core/loader/registry.ts'
import type { ActionOverrides, Preset } from '../../core/plugin.ts'
import { compileCheck, firstProblem } from '../../core/typebox.ts'
import { createTestContext } from '../contracts.ts'

/** The result: the fields of the actions, `skipped`, or why the payload was refused. */
export type Judged = ActionOverrides[] | 'skipped' | { refused: string }

export interface LoadedPreset {
  preset: Preset
  judge(payload: unknown, headers?: Record<string, string>): Judged
}

/** Loads the built-in presets, and those of plugins in a folder. */
export async function loadPresets({ plugins = [] as string[], dir = import.meta.dirname } = {}): Promise<
  ReadonlyMap<string, LoadedPreset>
> {
  const { presets, problems, close } = await loadExtensions({ plugins, dir, log: createTestContext().log })
  close()
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return new Map([...presets].map(([name, preset]) => [name, { preset, judge: judgeWith(preset) }]))
}

function judgeWith(preset: Preset): LoadedPreset['judge'] {
  const check = compileCheck(preset.payload)
  return (payload, headers = {}) => {
    if (!check.fits(payload)) return { refused: firstProblem(check.problems(payload)) }
    try {
      const action = preset.toAction?.({ payload, headers, config: {} })
      return action === null ? 'skipped' : [action ?? {}].flat()
    } catch (error) {
      if (isInputError(error)) return { refused: error.message }
      throw error
    }
  }
}
