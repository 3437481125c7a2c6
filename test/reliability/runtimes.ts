// A gateway whose runtime can fail at any step of its build, and counts of open resources.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { readConfigFile } from '../../core/config/file/read.ts'
import { createRedactor } from '../../core/config/redaction.ts'
import { resolveConfig } from '../../core/config/resolve.ts'
import { createGateway, type Gateway } from '../../core/gateway.ts'
import { loadExtensions } from '../../core/loader/registry.ts'
import type { Log } from '../../core/plugin/plugin.ts'
import { type Answer, ask, type Document, gatewayToken, hookToken, temporaryFolder, writeConfig } from '../helpers.ts'

const server = fileURLToPath(new URL('../fixtures/mcp/server.mjs', import.meta.url))

/**
 * Returns a `tools` section with one real MCP server. A different `mark` changes the settings and restarts the server.
 */
export const mcpTools = (mark: unknown): Document => ({
  mcp: { servers: { real: { command: process.execPath, args: [server], env: { MARK: String(mark) } } } },
})

/** Returns how many of these MCP servers run as children of this process. */
export function countServers(): number {
  const isServer = (pid: string): boolean => {
    try {
      const [, parent] = /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
      return Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(server)
    } catch {
      // The process has ended meanwhile.
      return false
    }
  }
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isServer(name)).length
}

/** Counts the resources of this process: child processes, open files, listeners for process events. */
export function countResources(): { processes: number; files: number; listeners: number } {
  return {
    processes: process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length,
    files: readdirSync('/proc/self/fd').length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
  }
}

export interface FragileGateway {
  gateway: Gateway
  dir: string
  logged: string[]
  /** Writes the file and reloads it. The build fails at this step, counted from 1. Absent: it does not fail. */
  reload(changes: Document, failAt?: number): Promise<unknown>
  /** Resolves when the tools of the MCP server are available. */
  connected(): Promise<void>
  post(path: string, body: unknown): Promise<Answer>
  wake(text: string): Promise<Answer>
}

/** Every request for a logger is a step of the build. There is one between any two resources that it opens. */
export async function createFragileGateway(
  changes: Document,
  { failAt = Infinity, dir = temporaryFolder() } = {},
): Promise<FragileGateway> {
  const logged: string[] = []
  let steps = 0
  let last = failAt
  const logFor = (component: string): Log => {
    if (++steps === last) throw new Error(`step ${steps} fails`)
    const at = (level: string) => (fields: object, message: string) =>
      void logged.push(JSON.stringify({ level, component, ...fields, message }))
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  }
  const document = readConfigFile(writeConfig(dir, changes))
  const extensions = await loadExtensions({ plugins: document.plugins, dir, log: logFor('loader') })
  const { config } = resolveConfig(document, extensions)
  steps = 0
  const gateway = await createGateway({
    config,
    dir,
    file: document.file,
    extensions,
    env: {},
    redactor: createRedactor(),
    logFor,
  })
  onTestFinished(() => gateway.close())
  let address = ''
  const post = (path: string, body: unknown): Promise<Answer> =>
    ask(`${address}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${hookToken}` },
      body: JSON.stringify(body),
    })
  const listen = gateway.listen
  gateway.listen = async () => (address = await listen())
  return {
    gateway,
    dir,
    logged,
    post,
    wake: (text) => post('/hooks/wake', { text }),
    reload: async (next, at = Infinity) => {
      writeConfig(dir, next)
      steps = 0
      last = at
      return await gateway.reload().finally(() => (last = Infinity))
    },
    connected: async () => {
      const call = {
        method: 'POST',
        headers: { authorization: `Bearer ${gatewayToken}` },
        body: '{"tool":"real__where"}',
      }
      while ((await ask(`${address}/tools/invoke`, call)).status !== 200)
        await new Promise((resolve) => setTimeout(resolve, 20))
    },
  }
}

/** Returns the same transform for two folders. It turns a payload into a wake. */
export function fixtures(dir: string): { file: string; text: string }[] {
  const text = 'export default ({ payload }: { payload: { text: string } }) => ({ text: payload.text })\n'
  return ['transforms/echo.ts', 'transforms/other/echo.ts'].map((path) => ({ file: join(dir, path), text }))
}
