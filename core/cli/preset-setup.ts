// Sets up a preset for a command: runs the preset's own setup and writes its section of the configuration.
import { join } from 'node:path'
import { mergeIntoFile } from '../config/file/merge.ts'
import type { ConfigDocument } from '../config/file/read.ts'
import { writePrivateFile } from '../config/file/write.ts'
import { hookUrlOf } from '../config/hooks-path.ts'
import { resolvePresetSettings } from '../config/preset-settings.ts'
import { resolveConfig } from '../config/resolve.ts'
import { presetSection } from '../config/schema/hooks.ts'
import { silentLog } from '../loader/extension-log.ts'
import { loadExtensions } from '../loader/registry.ts'
import { CommandError, isAuthError, isInputError } from '../plugin/errors.ts'
import type { Json } from '../plugin/plugin.ts'
import { listProblems } from '../typebox.ts'

/** How long a person has to agree in the browser. */
const limitMs = 10 * 60_000

interface Setup {
  name: string
  answers: object
  report(kind: 'done' | 'todo', sentence: string): void
}

export async function setUpPreset(document: ConfigDocument, { name, answers, report }: Setup): Promise<void> {
  using extensions = await loadExtensions(document)
  const preset = extensions.presets.get(name)
  if (!preset?.setup) throw new CommandError(`The preset "${name}" has no setup.`)
  const [problem] = listProblems(preset.setup.answers, answers)
  if (problem) throw new CommandError(`--${problem.path} ${problem.problem}`)
  const { missing } = extensions.findPackages(preset, {})
  if (missing !== undefined) throw new CommandError(`The preset "${name}" ${missing}`)
  const { config } = resolveConfig(document, extensions)
  const { hooks } = config
  const privatePath = (file: string): string => join(document.dir, file)
  const section = await preset.setup
    .run(answers as never, {
      settings: resolvePresetSettings(preset, presetSection(hooks, name)),
      hookUrl: hookUrlOf(config, name),
      done: (text) => report('done', text),
      todo: (text) => report('todo', text),
      privatePath,
      writePrivate: (file, value: Json) => {
        writePrivateFile(privatePath(file), `${JSON.stringify(value, null, 2)}\n`, { overwrite: true })
        return privatePath(file)
      },
      log: silentLog,
      signal: AbortSignal.timeout(limitMs),
    })
    .catch((error: unknown) => {
      if (isInputError(error) || isAuthError(error)) throw new CommandError(error.message)
      throw new CommandError(`The setup failed: ${error instanceof Error ? error.message : 'the reason is not known'}`)
    })
  mergeIntoFile(document, { hooks: { presets: [...new Set([...hooks.presets, name])], [name]: section } }, extensions)
  report('done', `Wrote hooks.${name} to ${document.file}. A running gateway must be restarted or reloaded.`)
  if (!hooks.enabled) report('todo', 'Webhooks are disabled; set hooks.enabled to true.')
}
