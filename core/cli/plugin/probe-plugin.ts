// The hidden command `probe-plugin`: imports a plugin in a process of its own, and reports what a gateway would find,
// and what the module does after its import.
import { setTimeout as delay } from 'node:timers/promises'
import { fieldsOf } from '../../kit/shapes.ts'
import { describeImportError } from '../../loader/import.ts'
import { labelOfPackage, type PluginPackage } from '../../loader/plugin-package.ts'
import { loadExtensions, ownSource, type PluginFinding } from '../../loader/registry.ts'
import { contractVersion, type Extension } from '../../plugin/plugin.ts'
import { describeExtension } from '../check/check.ts'

/** What the process sends, in this order. `failed` may come at any time after `loaded`. */
export type ProbeMessage =
  | { type: 'loaded'; report: ProbeReport }
  | { type: 'failed'; problem: string }
  | { type: 'ended' }

export interface ProbeReport {
  /** `svc-gateway-plugin-dice 1.0.0`. Absent: the module belongs to no package. */
  package?: string | undefined
  extensions: readonly {
    kind: Extension['kind']
    name: string
    description: string
    /** The names of its settings. */
    settings: readonly string[]
  }[]
  findings: readonly PluginFinding[]
  /** The files that its import has read, without those of other packages. */
  files: readonly string[]
}

/** How long the module is watched after its import, if it leaves something running. */
const watchMs = 1_000

export async function probePlugin({ plugin, cache }: { plugin: string; cache: string }): Promise<void> {
  const send = (message: ProbeMessage): void => void process.send?.(message)
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error: unknown) => send({ type: 'failed', problem: describeImportError(error) }))
  const { findings, packages, sources, pluginFiles } = await loadExtensions({
    plugins: [plugin],
    dir: process.cwd(),
    cacheDir: cache,
    isAlone: true,
  })
  const found = packages.get(plugin)
  const extensions = [...sources].flatMap(([extension, source]) => (source === ownSource ? [] : [extension]))
  send({
    type: 'loaded',
    report: {
      package: found && labelOfPackage(found),
      extensions: extensions.map((one) => ({
        kind: one.kind,
        name: one.name,
        description: describeExtension(one),
        settings: Object.keys(fieldsOf(fieldsOf('config' in one && one.config)['properties'])),
      })),
      files: pluginFiles(),
      findings: [...findings, ...(found ? findUnstatedVersion(plugin, found) : [])],
    },
  })
  await Promise.race([whenIdle(), delay(watchMs, undefined, { ref: false })])
  process.send?.({ type: 'ended' } satisfies ProbeMessage, () => process.exit())
}

/** A gateway loads such a package, but cannot say why it fails with another version. */
const findUnstatedVersion = (plugin: string, { name, needs }: PluginPackage): PluginFinding[] =>
  needs.some((need) => need.of === 'svc-gateway')
    ? []
    : [
        {
          severity: 'warning',
          plugin,
          sentence:
            `The package "${name}" does not say which versions of svc-gateway it needs; ` +
            `add \`"peerDependencies": { "svc-gateway": "^${contractVersion}" }\`.`,
        },
      ]

/** Resolves when nothing keeps the process alive. */
const whenIdle = (): Promise<void> => new Promise((resolve) => process.once('beforeExit', () => resolve()))
