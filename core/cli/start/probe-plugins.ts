// The hidden command `probe-plugins`: imports the plugins in a new process, and reports to `start --watch` whether the
// gateway could start with them.
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ConfigError, describeProblem } from '../../config/config-error.ts'
import { readConfigFile } from '../../config/file/read.ts'
import { resolveConfig } from '../../config/resolve.ts'
import { firstLineOf } from '../../errors.ts'
import { loadExtensions } from '../../loader/registry.ts'

export interface Probe {
  /** The `plugins` of the configuration. */
  plugins: readonly string[]
  /** One sentence for each reason why the gateway cannot start with these plugins. */
  problems: readonly string[]
  /** The files of the plugins, as far as they could be imported, with hashes of their contents. */
  files: Readonly<Record<string, string>>
}

export async function probePlugins(file: string): Promise<void> {
  const probe = await createProbe(file)
  // A plugin may have started something that keeps this process alive.
  process.send?.(probe, () => process.exit())
}

async function createProbe(file: string): Promise<Probe> {
  let plugins: readonly string[] = []
  let files: Probe['files'] = {}
  try {
    const document = readConfigFile(file)
    plugins = document.plugins
    const extensions = await loadExtensions(document)
    files = Object.fromEntries(extensions.pluginFiles().map((path) => [path, hashOf(path)]))
    // Sections of a plugin that cannot be used are unknown keys, so its own problem comes first.
    if (extensions.problems.length === 0) resolveConfig(document, extensions)
    return { plugins, files, problems: extensions.problems }
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems.map(describeProblem) : [firstLineOf(error)]
    return { plugins, files, problems }
  }
}

function hashOf(file: string): string {
  try {
    return hash('sha256', readFileSync(file))
  } catch {
    return 'missing'
  }
}
