// Tries a transform as its hook would use it: the same rules apply, and nothing is stored or started.
import { randomUUIDv7 } from 'node:crypto'
import { createAgents } from '../agents/agents.ts'
import { createModels } from '../agents/models.ts'
import type { Config, MappingConfig } from '../config/schema/schema.ts'
import { normalizeHookName } from '../config/hooks-path.ts'
import { createRecipients } from '../delivery/recipient.ts'
import { GatewayError } from '../errors.ts'
import { parseWebhookBody } from '../http/webhook-body.ts'
import type { Extensions } from '../loader/registry.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { TransformRun } from '../sandbox/transform.ts'
import { createAgentBody } from './schemas.ts'
import { checkProviderId } from './incoming-request.ts'
import { createPlanner } from './dispatch.ts'
import { createActionReader } from './mapped-action.ts'
import { createMapping } from './mapping.ts'
import { planMapped } from './pipeline.ts'
import { visibleHeaders } from '../kit/secret-names.ts'
import type { SecretUse } from './auth/secret-use.ts'

export interface TrialRequest {
  module: string
  exportName: string
  body: Buffer
  headers: Readonly<Record<string, string>>
  /** ISO 8601. */
  now: string
}

export interface Trial {
  /** Id of the mapping that uses the transform; undefined: no mapping uses it yet. */
  mapping: string | undefined
  /** The call of the transform; undefined: it was not called, or it failed. */
  run: TransformRun | undefined
  /** Why the hook would reject the request, or the error of the transform. */
  error: unknown
}

interface TrialDeps {
  config: Config
  /** The configuration directory. */
  dir: string
  extensions: Pick<Extensions, 'channels' | 'providers' | 'schemes'>
  sandbox: Sandbox
  log: Log
}

export async function tryTransform(
  { config, dir, extensions, sandbox, log }: TrialDeps,
  request: TrialRequest,
): Promise<Trial> {
  const { module, exportName, body, now } = request
  const { id, settings } = mappingOf(config, request)
  let run: TransformRun | undefined
  try {
    const handle = sandbox.load(module, { ...settings.transform, export: exportName })
    const transform = {
      ...handle,
      run: async (call: Parameters<typeof handle.run>[0]) => (run = await handle.run(call)),
    }
    const path = normalizeHookName(settings.match?.path ?? module.replace(/^.*\/|\.\w+$/g, ''))
    const readAction = createActionReader(createAgentBody(extensions.channels))
    const mapping = createMapping(
      { id: id ?? module, path, config: settings, transform },
      { keepBody: config.hooks.keepBody, readAction, secretUse: noSecretUse, schemes: extensions.schemes, log },
    )
    if (body.length > config.hooks.maxBodyBytes) throw new GatewayError('payload_too_large')
    const { text: _text, ...read } = await parseWebhookBody(body, request.headers['content-type'])
    const headers = visibleHeaders(request.headers, mapping.verifier?.hiddenHeaders)
    const mapped = { ...read, payload: read.payload, headers, query: {}, path, now }
    const planner = plannerOf({ config, dir, extensions, log })
    const { providerId } = await planMapped(planner, { mapping, request: mapped })
    if (typeof providerId === 'string') checkProviderId(providerId)
    return { mapping: id, run, error: undefined }
  } catch (error) {
    return { mapping: id, run, error }
  }
}

/** The mapping that uses the transform, or a stand-in that has every text that a transform may leave to its mapping. */
function mappingOf(
  { hooks }: Config,
  { module, exportName }: TrialRequest,
): { id: string | undefined; settings: MappingConfig } {
  const isUsed = ({ transform }: MappingConfig): boolean =>
    transform?.module === module && (transform.export ?? 'default') === exportName
  const index = hooks.mappings.findIndex(isUsed)
  const settings = hooks.mappings[index]
  if (settings) return { id: settings.id ?? `mappings[${index}]`, settings }
  return {
    id: undefined,
    settings: { messageTemplate: 'from the mapping', textTemplate: 'from the mapping', transform: { module } },
  }
}

function plannerOf({ config, dir, extensions, log }: Omit<TrialDeps, 'sandbox'>) {
  const agents = createAgents(config, dir)
  return createPlanner({
    config,
    agents,
    models: createModels({ config, providers: extensions.providers, log }),
    recipients: createRecipients({
      routes: { find: async () => ({}), findKnown: () => ({}) },
      channels: config.channels,
      loaded: extensions.channels,
      mainSession: agents.default.mainSession,
      fallbackChannel: config.session.fallbackChannel,
    }),
    createId: () => randomUUIDv7(),
  })
}

/** A trial verifies no signature. */
const noSecretUse: SecretUse = { open: () => ({ note: () => undefined, list: async () => [] }) }
