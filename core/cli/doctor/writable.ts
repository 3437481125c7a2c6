// Checks that the gateway can write its state and the workspaces of its agents.
import { accessSync, constants, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createAgents } from '../../agents/agents.ts'
import type { Config } from '../../config/schema.ts'
import { storeFileOf } from '../../store/store-url.ts'
import type { Finding } from './finding.ts'
import { withConfig } from './subject.ts'

export const checkState = withConfig(({ resolved: { config, dir } }) => {
  const store = storeFileOf(config.storage.url, dir)
  const folders = new Set([join(dir, 'state'), ...(store === undefined ? [] : [dirname(store)])])
  return [...folders].flatMap((folder) => {
    const reason = findObstacle(folder)
    if (reason === undefined) return []
    const where = folder === join(dir, 'state') ? folder : 'storage.url'
    return [unwritable('state_not_writable', { where, what: 'The state cannot be written', reason })]
  })
})

export const checkWorkspaces = withConfig(({ resolved: { config, dir } }) =>
  createAgents(config, dir).all.flatMap(({ id, workspace }): Finding[] => {
    const reason = findObstacle(workspace)
    const where = workspaceKey(config, id)
    if (reason !== undefined)
      return [unwritable('workspace_not_writable', { where, what: `The agent "${id}" cannot write its files`, reason })]
    const isMissing = hasOwnFolder(config, id) && statSync(workspace, { throwIfNoEntry: false }) === undefined
    return isMissing ? [missingWorkspace({ id, workspace, where })] : []
  }),
)

const hasOwnFolder = ({ agents }: Config, id: string): boolean =>
  (agents[id]?.workspace ?? agents.defaults.workspace) !== undefined

const workspaceKey = ({ agents }: Config, id: string): string =>
  `agents.${agents[id]?.workspace === undefined ? 'defaults' : id}.workspace`

/** Why a folder cannot be written, or cannot be created, as the end of a sentence. */
function findObstacle(folder: string): string | undefined {
  const stat = statIfPresent(folder)
  if (stat === undefined) return dirname(folder) === folder ? `${folder} does not exist` : findObstacle(dirname(folder))
  if (!stat.isDirectory()) return `${folder} is not a folder`
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    return `this user may not write to ${folder} (${(error as NodeJS.ErrnoException).code})`
  }
}

/** Below a file, or in a folder that this user may not enter, nothing can be seen. */
function statIfPresent(path: string): ReturnType<typeof statSync> {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

interface Obstacle {
  where: string
  what: string
  reason: string
}

const unwritable = (
  id: 'state_not_writable' | 'workspace_not_writable',
  { where, what, reason }: Obstacle,
): Finding => ({
  id,
  severity: 'error',
  where,
  problem: `${what}: ${reason}.`,
  fix: `Give the user of the gateway a folder that it can write${where.includes('/') ? '' : `, or change ${where}`}.`,
})

const missingWorkspace = ({ id, workspace, where }: Record<'id' | 'workspace' | 'where', string>): Finding => ({
  id: 'workspace_missing',
  severity: 'warning',
  where,
  problem: `The workspace ${workspace} of the agent "${id}" does not exist; the gateway would start with an empty one.`,
  fix: `Run: mkdir -p ${workspace}, mount what belongs there, or correct ${where}.`,
})
