// What the checks look at: the configuration as far as it can be read, the model servers, and the running gateway.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError, type ConfigProblem } from '../../config/config-error.ts'
import { firstConfigFile, locateConfig } from '../../config/file/locate.ts'
import { type ConfigDocument, readConfigFile } from '../../config/file/read.ts'
import type { ResolvedConfig } from '../../config/resolve.ts'
import { findWarnings, resolveWithWarnings } from '../../findings.ts'
import { type Extensions, loadExtensions } from '../../loader/registry.ts'
import type { ControlOptions } from '../locate-gateway.ts'
import type { Outcome } from './finding.ts'
import { findGateway, type GatewayState } from './gateway/state.ts'
import { askModelServers, type ModelAnswer } from './model-servers.ts'

export interface DoctorOptions extends ControlOptions {
  json?: boolean | undefined
  strict?: boolean | undefined
  offline?: boolean | undefined
}

export interface Subject {
  options: DoctorOptions
  /** Absolute path of the configuration, which may not exist. */
  file: string
  /** The configuration directory. */
  dir: string
  isMissing: boolean
  errors: readonly ConfigProblem[]
  warnings: readonly ConfigProblem[]
  /** Refused plugins. */
  pluginProblems: readonly string[]
  /** Absent if the configuration has errors. */
  ready?: ReadyConfig
  /** Empty with `--offline`. */
  modelAnswers: Promise<readonly ModelAnswer[]>
  gateway: Promise<GatewayState>
  close(): void
}

/** A valid configuration. */
export interface ReadyConfig {
  document: ConfigDocument
  resolved: ResolvedConfig
  extensions: Extensions
}

export async function openSubject(options: DoctorOptions): Promise<Subject> {
  const { file, ...read } = await readConfig(options)
  const { ready } = read
  return {
    pluginProblems: [],
    warnings: [],
    errors: [],
    isMissing: false,
    close() {},
    ...read,
    options,
    file,
    dir: dirname(file),
    modelAnswers:
      ready && !options.offline
        ? askModelServers(ready.extensions.providers, ready.resolved.config)
        : Promise.resolve([]),
    gateway: findGateway(options, file),
  }
}

type ConfigReport = Pick<Subject, 'file'> &
  Partial<Pick<Subject, 'isMissing' | 'errors' | 'warnings' | 'pluginProblems' | 'ready' | 'close'>>

async function readConfig({ config }: DoctorOptions): Promise<ConfigReport> {
  try {
    const file = locateConfig({ option: config })
    if (file === undefined) return { file: firstConfigFile(), isMissing: true }
    return await checkDocument(readConfigFile(file))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const { file, problems } = error
    return { file, isMissing: !existsSync(file), errors: problems }
  }
}

async function checkDocument(document: ConfigDocument): Promise<ConfigReport> {
  const { file, dir, plugins } = document
  const extensions = await loadExtensions({ plugins, dir })
  const report = { file, pluginProblems: extensions.problems, close: () => extensions.close() }
  try {
    const resolved = await resolveWithWarnings(document, extensions)
    const warnings = await findWarnings(resolved, { extensions, env: process.env })
    return { ...report, warnings, ready: { document, resolved, extensions } }
  } catch (error) {
    if (error instanceof ConfigError) return { ...report, errors: error.problems, warnings: error.warnings }
    extensions.close()
    throw error
  }
}

/** A check that looks at a valid configuration. */
export const withConfig =
  (find: (ready: ReadyConfig, subject: Subject) => Outcome | Promise<Outcome>) =>
  (subject: Subject): Outcome | Promise<Outcome> =>
    subject.ready ? find(subject.ready, subject) : { skipped: 'there is no valid configuration' }
