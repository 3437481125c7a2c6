// Examines a configuration as far as it can be read, for the commands `check` and `doctor`.
import { ConfigError, type ConfigProblem } from '../config/config-error.ts'
import type { ConfigDocument } from '../config/file/read.ts'
import type { ResolvedConfig } from '../config/resolve.ts'
import { findWarnings, resolveWithWarnings } from '../findings.ts'
import { type Extensions, loadExtensions } from '../loader/registry.ts'

/** It is disposed by closing its extensions. */
export interface Examined extends Disposable {
  document?: ConfigDocument
  extensions?: Extensions
  /** Absent if the configuration has errors. */
  resolved?: ResolvedConfig
  warnings: readonly ConfigProblem[]
  error?: ConfigError
}

export async function examine(read: () => ConfigDocument): Promise<Examined> {
  const examined: Examined = { warnings: [], [Symbol.dispose]: () => examined.extensions?.close() }
  try {
    const document = read()
    examined.document = document
    const extensions = await loadExtensions(document)
    examined.extensions = extensions
    const resolved = await resolveWithWarnings(document, extensions)
    const warnings = await findWarnings(resolved, { extensions, env: process.env })
    return Object.assign(examined, { resolved, warnings })
  } catch (error) {
    if (error instanceof ConfigError) return Object.assign(examined, { warnings: error.warnings, error })
    examined.extensions?.close()
    throw error
  }
}
