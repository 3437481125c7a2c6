// Checks that the gateway can write its state and the workspaces of its agents.
import { accessSync, constants, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createAgents } from '../../agents/agents.ts'
import type { Config } from '../../config/schema/schema.ts'
import { storeFileOf } from '../../store/store-url.ts'
import type { Finding } from './finding.ts'
import { withConfig } from './subject.ts'

export const checkState = withConfig(({ resolved: { config, dir } }) => {
  const store = storeFileOf(config.storage.url, dir)
  const folders = new Set([join(dir, 'state'), ...(store === undefined ? [] : [dirname(store)])])
  return [...folders].flatMap((folder): Finding[] => {
    const obstacle = findObstacle(folder)
    if (!obstacle) return []
    const problem = `The state cannot be written: ${obstacle.reason}.`
    return [{ id: 'state_not_writable', severity: 'error', where: folder, problem, fix: obstacle.fix }]
  })
})

/** Workspaces that are not configured are in the state directory. */
export const checkWorkspaces = withConfig(({ resolved: { config, dir } }) =>
  createAgents(config, dir)
    .all.filter(({ id }) => workspaceKey(config, id) !== undefined)
    .flatMap(({ id, workspace }) => checkWorkspace({ id, workspace, where: String(workspaceKey(config, id)) })),
)

function workspaceKey({ agents }: Config, id: string): string | undefined {
  if (agents[id]?.workspace !== undefined) return `agents.${id}.workspace`
  return agents.defaults.workspace === undefined ? undefined : 'agents.defaults.workspace'
}

function checkWorkspace({ id, workspace, where }: Record<'id' | 'workspace' | 'where', string>): Finding[] {
  const obstacle = findObstacle(workspace)
  if (obstacle) {
    const problem = `The agent "${id}" cannot write its files: ${obstacle.reason}.`
    return [{ id: 'workspace_not_writable', severity: 'error', where, problem, fix: obstacle.fix }]
  }
  if (statIfPresent(workspace)) return []
  const problem = `The workspace ${workspace} of the agent "${id}" does not exist, so the agent starts without files.`
  const fix = `Create it with: mkdir -p ${workspace} (or mount it, or correct ${where})`
  return [{ id: 'workspace_missing', severity: 'warning', where, problem, fix }]
}

interface Obstacle {
  /** The end of a sentence. */
  reason: string
  fix: string
}

/** Why a folder cannot be written, or cannot be created. */
function findObstacle(folder: string): Obstacle | undefined {
  const stat = statIfPresent(folder)
  if (stat === undefined) return dirname(folder) === folder ? undefined : findObstacle(dirname(folder))
  if (!stat.isDirectory()) return { reason: `${folder} is not a folder`, fix: `Move the file ${folder} away.` }
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    const reason = `this user may not write to ${folder} (${(error as NodeJS.ErrnoException).code})`
    return { reason, fix: `Run this as the user of the gateway, or give the folder to it with: chown <user> ${folder}` }
  }
}

/** Nothing can be seen below a file, or in a folder that this user may not enter. */
function statIfPresent(path: string): ReturnType<typeof statSync> {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
