// Shows what a mapping that is not in the configuration would make of a request. Nothing is stored, started or sent.
import { normalizeHookName } from '../config/hooks-path.ts'
import { ConfigError } from '../config/config-error.ts'
import { type ExaminedMapping, examineMapping } from '../config/mapping-text.ts'
import type { RuleContext } from '../config/rules/rule.ts'
import type { MappingConfig } from '../config/schema/schema.ts'
import type { Schemes } from '../config/schemes.ts'
import { GatewayError } from '../errors.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Sandbox, TransformHandle } from '../sandbox/sandbox.ts'
import type { TransformRun } from '../sandbox/transform.ts'
import { TransformError } from '../sandbox/transform-error.ts'
import type { SecretUse } from './auth/secret-use.ts'
import type { Planner } from './dispatch.ts'
import type { DescribePlan } from './dry-run.ts'
import { createActionReader } from './mapped-action.ts'
import { type MappedRequest, readStoredRequest } from './mapped-request.ts'
import { createMapping } from './mapping.ts'
import { findUnmet } from './match.ts'
import { planMapped } from './pipeline.ts'
import type { createAgentBody } from './schemas.ts'

export interface MappingPreviewRequest {
  /** The mapping as JSON5. */
  mapping: string
  /** The body as it is received. */
  body: string
  headers?: Readonly<Record<string, string>> | undefined
  query?: Readonly<Record<string, unknown>> | undefined
  /** The name of the hook that receives the request. Default: the one that the mapping matches. */
  hook?: string | undefined
}

export type PreviewMapping = (request: MappingPreviewRequest) => Promise<object>

interface MappingPreviewDeps {
  rules: RuleContext
  agentBody: ReturnType<typeof createAgentBody>
  schemes: Schemes
  sandbox: Sandbox
  planner: Planner
  describePlan: DescribePlan
  secretUse: SecretUse
  log: Log
}

export function createMappingPreview(deps: MappingPreviewDeps): PreviewMapping {
  return async (given) => {
    const { mapping: config, problems, warnings } = examine(given.mapping, deps.rules)
    if (!config) return { ok: true, problems, warnings }
    try {
      const request = readRequest(given, config)
      const unmet = findUnmet(config, request)
      return {
        ok: true,
        problems,
        warnings,
        isMatch: unmet.length === 0,
        unmet,
        ...(await tryMapping(config, request, deps)),
      }
    } catch (error) {
      return { ok: true, problems, warnings, ...describeRefusal(error) }
    }
  }
}

/** What the mapping makes of the request, and what its transform did. */
async function tryMapping(config: MappingConfig, request: MappedRequest, deps: MappingPreviewDeps): Promise<object> {
  const { transform: file } = config
  const handle = file && deps.sandbox.load(file.module, { ...file, isTrial: true })
  let run: TransformRun | undefined
  const transform = handle && {
    ...handle,
    run: async (call: Parameters<typeof handle.run>[0]) => (run = await handle.run(call)),
  }
  try {
    const planned = await plan({ config, request, transform }, deps)
    return { ...(await deps.describePlan(planned)), ...describeRun(run) }
  } catch (error) {
    const failed = error instanceof TransformError ? error : undefined
    return { ...describeRefusal(error), ...describeRun(run ?? failed) }
  } finally {
    handle?.close()
  }
}

/** A transform that failed has logged, too. Nothing is known of one that was not called. */
function describeRun(run: TransformRun | TransformError | undefined): object {
  if (!run) return {}
  const logs = run.logs.map(([level, text]) => ({ level, text }))
  return { transform: run instanceof TransformError ? { logs } : { logs, ms: run.ms, result: run.result } }
}

/** What the hook would answer. What a transform throws may be shown to whoever sent its input. */
function describeRefusal(error: unknown): object {
  if (!(error instanceof GatewayError)) throw error
  const detail = error instanceof TransformError ? error.detail : undefined
  return { error: { type: error.code, message: error.message, ...(detail !== undefined && { detail }) } }
}

function readRequest(
  { body, headers = {}, query = {}, hook }: MappingPreviewRequest,
  { match }: MappingConfig,
): MappedRequest {
  const received = { hook: normalizeHookName(hook ?? match?.path ?? 'preview'), headers, query }
  return readStoredRequest(received, { rawBody: body, contentType: contentTypeOf(headers), hiddenHeaders: [] })
}

function examine(text: string, rules: RuleContext): ExaminedMapping {
  try {
    const examined = examineMapping('mapping', text, rules)
    return { ...examined, problems: examined.problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)) }
  } catch (error) {
    if (error instanceof ConfigError) return { problems: [...error.problems], warnings: [] }
    throw error
  }
}

async function plan(
  {
    config,
    request,
    transform,
  }: { config: MappingConfig; request: MappedRequest; transform: TransformHandle | undefined },
  { agentBody, schemes, planner, secretUse, log }: MappingPreviewDeps,
) {
  const { id = 'preview' } = config
  const mapping = createMapping(
    { id, path: request.path, config, transform },
    { keepBody: false, readAction: createActionReader(agentBody), secretUse, schemes, log },
  )
  return await planMapped(planner, { mapping, request })
}

const contentTypeOf = (headers: Readonly<Record<string, string>>): string | undefined =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1]
