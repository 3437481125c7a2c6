// The command that sets up a preset: runs the preset's own setup and writes its section of the configuration.
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isAuthError, isInputError } from '../../plugin/errors.ts'
import { locateConfig } from '../../config/file/locate.ts'
import { mergeIntoFile } from '../../config/file/merge.ts'
import { type ConfigDocument, readConfigFile } from '../../config/file/read.ts'
import { writePrivateFile } from '../../config/file/write.ts'
import { resolvePresetSettings } from '../../config/preset-settings.ts'
import { resolveConfig } from '../../config/resolve.ts'
import type { Config } from '../../config/schema/schema.ts'
import { presetSection } from '../../config/schema/hooks.ts'
import { type Extensions, loadExtensions } from '../../loader/registry.ts'
import type { Log, Preset, PresetSetupContext } from '../../plugin/plugin.ts'
import { listProblems } from '../../typebox.ts'
import { CommandError } from '../../plugin/errors.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'

export interface SetupOptions {
  config?: string
  json?: boolean
  [answer: string]: unknown
}

/** How long a person has to agree in the browser. */
const limitMs = 10 * 60_000

export async function setUpPreset(name: string, { config, json = false, ...answers }: SetupOptions): Promise<void> {
  const document = findDocument(config)
  const extensions = await loadExtensions({ plugins: document.plugins, dir: document.dir, log: silent })
  try {
    const preset = extensions.presets.get(name)
    if (!preset?.setup) throw new CommandError(`The preset "${name}" has no setup.`)
    const [problem] = listProblems(preset.setup.answers, answers)
    if (problem) throw new CommandError(`--${problem.path} ${problem.problem}`)
    const { missing } = extensions.findPackages(preset, {})
    if (missing !== undefined) throw new CommandError(`The preset "${name}" ${missing}`)
    const report = createReport(json)
    const section = await runSetup(preset, answers, { document, extensions, report })
    const { hooks } = resolveConfig(document, extensions).config
    const presets = [...new Set([...hooks.presets, name])]
    mergeIntoFile(document, { hooks: { presets, [name]: section } }, extensions)
    report('done', `Wrote hooks.${name} to ${document.file}. A running gateway must be restarted or reloaded.`)
    if (!hooks.enabled) report('todo', 'Webhooks are disabled; set hooks.enabled to true.')
  } finally {
    extensions.close()
  }
}

type Report = (kind: 'done' | 'todo', text: string) => void

const createReport =
  (json: boolean): Report =>
  (kind, text) =>
    void process.stdout.write(
      json ? `${JSON.stringify({ [kind]: text })}\n` : `${kind === 'done' ? 'ok   ' : 'TO DO'} ${escapeInLine(text)}\n`,
    )

interface Surroundings {
  document: ConfigDocument
  extensions: Extensions
  report: Report
}

async function runSetup(preset: Preset, answers: object, { document, extensions, report }: Surroundings) {
  const { config } = resolveConfig(document, extensions)
  const privatePath = (file: string) => join(document.dir, file)
  const context: PresetSetupContext<Record<string, unknown>> = {
    settings: resolvePresetSettings(preset, presetSection(config.hooks, preset.name)),
    hookUrl: hookUrlOf(config, preset.name),
    done: (text) => report('done', text),
    todo: (text) => report('todo', text),
    privatePath,
    writePrivate: (file, value) => {
      writePrivateFile(privatePath(file), `${JSON.stringify(value, null, 2)}\n`, { overwrite: true })
      return privatePath(file)
    },
    log: silent,
    signal: AbortSignal.timeout(limitMs),
  }
  try {
    return await preset.setup?.run(answers as never, context)
  } catch (error) {
    if (isInputError(error) || isAuthError(error)) throw new CommandError(error.message)
    throw new CommandError(`The setup failed: ${error instanceof Error ? error.message : 'the reason is not known'}`)
  }
}

const hookUrlOf = ({ gateway, hooks }: Config, name: string): string | undefined =>
  gateway.publicUrl && `${gateway.publicUrl.replace(/\/+$/, '')}${hooks.path}/${name}`

function findDocument(option: string | undefined): ConfigDocument {
  const file = locateConfig({ option, env: process.env, cwd: process.cwd(), home: homedir() })
  if (file === undefined) throw new CommandError('There is no configuration yet; run "svc-gateway setup" first.')
  return readConfigFile(file)
}

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }
