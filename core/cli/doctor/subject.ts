// What the checks look at: the configuration as far as it can be read, the model servers, and the running gateway.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { ConfigError, ConfigProblem } from '../../config/config-error.ts'
import { readLocatedConfig } from '../../config/file/locate.ts'
import type { ConfigDocument } from '../../config/file/read.ts'
import type { ResolvedConfig } from '../../config/resolve.ts'
import { describeSource } from '../../loader/plugin-package.ts'
import type { Extensions } from '../../loader/registry.ts'
import { examine } from '../examine.ts'
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
  /** The plugins of the configuration, with their versions. */
  plugins: readonly string[]
  /** Refused plugins. */
  pluginProblems: readonly string[]
  /** Faults of plugins that are used nevertheless. */
  pluginWarnings: readonly string[]
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
  const examined = await examine(() => readLocatedConfig(options.config))
  const { document, extensions, resolved, warnings, error } = examined
  const ready = document && extensions && resolved && { document, extensions, resolved }
  const file = document?.file ?? (error as ConfigError).file
  return {
    options,
    file,
    dir: dirname(file),
    isMissing: !existsSync(file),
    errors: error?.problems ?? [],
    warnings,
    plugins: extensions && document ? document.plugins.map((one) => describeSource(one, extensions.packages)) : [],
    pluginProblems: extensions?.problems ?? [],
    pluginWarnings: extensions?.warnings ?? [],
    ...(ready && { ready }),
    modelAnswers:
      ready && !options.offline ? askModelServers(extensions.providers, resolved.config) : Promise.resolve([]),
    gateway: findGateway(options, file),
    close: () => examined[Symbol.dispose](),
  }
}

/** A check that looks at a valid configuration. */
export const withConfig =
  (find: (ready: ReadyConfig, subject: Subject) => Outcome | Promise<Outcome>) =>
  (subject: Subject): Outcome | Promise<Outcome> =>
    subject.ready ? find(subject.ready, subject) : { skipped: 'there is no valid configuration' }
