// Starts the tool routes for tests: real server, auth, policy and invoke, with the tools of the test.
import { noProvenance } from '../../core/store/provenance.ts'
import console from '../../channels/console.ts'
import { createAgents } from '../../core/agents/agents.ts'
import { resolveCredential } from '../../core/config/credentials.ts'
import { readConfigFile } from '../../core/config/file/read.ts'
import { resolveConfig } from '../../core/config/resolve.ts'
import type { Config } from '../../core/config/schema/schema.ts'
import { createCredentialCheck, createGatewayAuth, ownCredential } from '../../core/http/auth.ts'
import { createServer } from '../../core/http/server.ts'
import { createThrottle } from '../../core/http/throttle.ts'
import { defineTool, defineToolset, type Tool, Type } from '../../core/plugin/plugin.ts'
import { type ToolRegistry, openToolRegistry } from '../../core/tools/registry.ts'
import { createInvoke } from '../../core/tools/invoke.ts'
import { createPolicy, type Policy } from '../../core/tools/policy.ts'
import { createToolRequest } from '../../core/tools/request.ts'
import { registerTools } from '../../core/tools/routes.ts'
import { createRuleOfTwo } from '../../core/tools/rule-of-two.ts'
import { onTestFinished } from 'vitest'
import { createTestContext, type TestContext } from '../contracts/context.ts'
import { createTestToolApi } from '../contracts/tool-api.ts'
import { type Answer, ask, type Document, gatewayToken, temporaryFolder, writeConfig } from '../helpers.ts'

/** Tools by toolset; those of `foreign` count as tools of a third-party plugin. */
export type Toolsets = Readonly<Record<string, readonly Tool[]>>

/** A tool that returns its name. */
export const plain = (name: string, rest: Partial<Tool> = {}): Tool => ({
  ...defineTool({ name, description: `Does ${name}.`, args: Type.Object({}), execute: () => name }),
  ...rest,
})

export const plainTools = (...names: readonly string[]): Tool[] => names.map((name) => plain(name))

export interface TestPolicy {
  config: Config
  registry: ToolRegistry
  policy: Policy
  context: TestContext
}

/** Opens the policy of a configuration for these tools. Agents use `test/model`. */
export async function openPolicy(toolsets: Toolsets, changes: Document = {}): Promise<TestPolicy> {
  const document = readConfigFile(writeConfig(temporaryFolder(), changes))
  const { config } = resolveConfig(document, {
    channels: new Map([['console', console]]),
    toolsets: new Map(),
    providers: new Map(),
    presets: new Map(),
    schemes: new Map(),
  })
  const context = createTestContext()
  const declared = Object.entries(toolsets).map(([name, tools]) =>
    defineToolset<never>({ name, description: `The set ${name}.`, tools }),
  )
  const registry = await openToolRegistry({ toolsets: declared, settings: () => ({}), context: () => context })
  const policy = createPolicy({
    config,
    registry,
    modelOf: () => 'test/model',
    channelName: (name) => name,
    isForeign: (toolset) => toolset === 'foreign',
  })
  return { config, registry, policy, context }
}

export interface ToolRoutes {
  url: string
  /** The log of the server and of the tools. */
  logged: TestContext['logged']
  policy: Policy
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
}

/** Serves the routes on a free port until the test ends. `timeoutMs` is the time limit of a tool. */
export async function openToolRoutes(
  toolsets: Toolsets,
  { timeoutMs = 5_000, env = {}, ...changes }: Document & { timeoutMs?: number; env?: NodeJS.ProcessEnv } = {},
): Promise<ToolRoutes> {
  const { config, registry, policy, context } = await openPolicy(toolsets, changes)
  const { rateLimit } = config.gateway.auth
  const app = createServer({ log: context.log, trustedProxies: [], findRefusal: () => undefined })
  const check = createCredentialCheck({
    credentials: [ownCredential(resolveCredential(config.gateway.auth, env).value ?? '')],
    exemptLoopback: rateLimit?.exemptLoopback ?? true,
    ...(rateLimit && { throttle: createThrottle({ limits: () => rateLimit }) }),
  })
  // The rule of two does not apply to HTTP callers, so nothing is stored.
  const store = { getExposure: async () => undefined, useEffects: async () => undefined }
  const ruleOfTwo = createRuleOfTwo({ store, policy, effects: config.tools.effects, log: context.log })
  const invoke = createInvoke({
    registry,
    policy,
    ruleOfTwo,
    toolApi: () => createTestToolApi(),
    timeoutMs,
    log: context.log,
  })
  registerTools(app, {
    guard: { auth: createGatewayAuth(check), onRefused: () => {} },
    registry,
    policy,
    ruleOfTwo,
    invokeTool: createToolRequest({
      registry,
      invoke,
      audit: { done: async () => {}, failed: () => {} },
      waitForApproval: () => Promise.reject(new Error('Nobody is asked here.')),
    }),
    readVisible: async () => noProvenance,
    explainNarrowing: () => undefined,
    narrowsChats: true,
    agents: createAgents(config, '.'),
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => app.close())
  const bearer = { authorization: `Bearer ${gatewayToken}` }
  return {
    url,
    logged: context.logged,
    policy,
    post: (path, body, headers = {}) =>
      ask(`${url}${path}`, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { ...bearer, ...headers },
      }),
    get: (path, headers = {}) => ask(`${url}${path}`, { headers: { ...bearer, ...headers } }),
  }
}
