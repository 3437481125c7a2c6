// Checks that no workspace holds files of the gateway itself: whoever writes them controls the gateway.
import { join, resolve } from 'node:path'
import { isInside, resolveLinks } from '../file/paths.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* workspaceRules(context: RuleContext): Iterable<RuleFinding> {
  for (const [id, { workspace }] of Object.entries(context.config.agents)) {
    if (workspace === undefined) continue
    // Below that of the defaults, each agent has a folder.
    const folder = resolveLinks(resolve(context.dir, workspace, ...(id === 'defaults' ? ['main'] : [])))
    const own = ownPaths(context).find(({ path, mayHold }) =>
      overlaps(folder, resolveLinks(path), mayHold && resolveLinks(mayHold)),
    )
    if (own) yield { keys: ['agents', id, 'workspace'], problem: `${describe(folder, own)}; use a folder of its own` }
  }
}

interface OwnPath {
  name: string
  path: string
  /** A folder in it that may hold workspaces. */
  mayHold?: string | undefined
}

const ownPaths = ({ config, dir }: RuleContext): OwnPath[] => [
  { name: 'the configuration', path: dir, mayHold: dir },
  { name: 'the transforms', path: join(dir, 'transforms') },
  { name: 'the transforms', path: resolve(dir, config.hooks.transformsDir) },
  { name: 'the state of the gateway', path: join(dir, 'state'), mayHold: join(dir, 'state', 'workspaces') },
  ...config.plugins.filter(isFile).map((plugin) => ({ name: `the plugin ${plugin}`, path: resolve(dir, plugin) })),
]

const isFile = (plugin: string): boolean => plugin.startsWith('.') || plugin.startsWith('/')

/** Whether the workspace holds this path, or is in it, where no workspace may be. */
const overlaps = (folder: string, path: string, mayHold: string | undefined): boolean =>
  isInside(folder, path) ||
  (isInside(path, folder) && (mayHold === undefined || folder === mayHold || !isInside(mayHold, folder)))

const describe = (folder: string, { name, path }: OwnPath): string =>
  isInside(folder, resolveLinks(path))
    ? `holds ${name}, so an agent that writes files could change the gateway`
    : `is in the folder of ${name}, so an agent that writes files could change the gateway`
