// Workspaces that hold files of the gateway itself.
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { readConfigFile } from '../../../core/config/file/read.ts'
import { resolveConfig } from '../../../core/config/resolve.ts'
import { extensions, problemsOf, resolveText, write } from '../document.ts'

const configOf = (workspace: string): string =>
  `{ plugins: ['./house/own.mjs'], agents: { ops: { workspace: ${JSON.stringify(workspace)} } } }`

it.each([
  ['.', 'holds the configuration'],
  ['/', 'holds the configuration'],
  ['..', 'holds the configuration'],
  ['transforms', 'holds the transforms'],
  ['transforms/ops', 'is in the folder of the transforms'],
  ['state', 'holds the state of the gateway'],
  ['state/files', 'is in the folder of the state of the gateway'],
  ['state/workspaces', 'is in the folder of the state of the gateway'],
  ['house', 'holds the plugin ./house/own.mjs'],
])('the workspace %j is refused, because it %s', (workspace, problem) => {
  const end = ', so an agent that writes files could change the gateway; use a folder of its own'
  expect(problemsOf(configOf(workspace))).toContain(`line 1: agents.ops.workspace ${problem}${end}`)
})

it.each(['files', 'state/workspaces/ops', '../files', 'house/files'])('the workspace %j is accepted', (workspace) => {
  const { config } = resolveText(`{ agents: { ops: { workspace: '${workspace}' } } }`)
  expect(config.agents['ops']?.workspace).toBe(workspace)
})

it('a workspace that is missing is judged where it would be made, in a configuration folder behind a link', () => {
  const resolveIn = (workspace: string) => {
    const dir = dirname(write(`{ agents: { ops: { workspace: '${workspace}' } } }`))
    const link = join(dir, 'link')
    symlinkSync(dir, link)
    mkdirSync(join(dir, 'made'))
    return resolveConfig(readConfigFile(join(link, 'gateway.json5'), {}), extensions).config.agents['ops']?.workspace
  }
  for (const workspace of ['made', 'missing', 'state/workspaces/missing']) expect(resolveIn(workspace)).toBe(workspace)
  expect(() => resolveIn('link/transforms/missing')).toThrow('is in the folder of the transforms')
})
