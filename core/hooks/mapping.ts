// One mapping: what it makes of a payload, by templates, a transform or a preset.
import { type ActionField, actionFields, isTemplateField, type TemplateField, templateKeys } from '../action.ts'
import { compileExpression, compileTemplate, isTemplate, type TemplateScope } from '../config/template.ts'
import type { MappingConfig } from '../config/schema.ts'
import { GatewayError } from '../errors.ts'
import { isInputError } from '../input-error.ts'
import type { Log, Preset } from '../plugin.ts'
import type { TransformHandle } from '../sandbox/sandbox.ts'
import type { TransformState } from '../sandbox/transform.ts'
import { TransformError } from '../sandbox/transform-error.ts'
import type { NewRun } from '../store/store.ts'
import { compileCheck, firstProblem, type Check, type JsonSchema } from '../typebox.ts'
import { type Action, defined, type MappedFields, type ReadAction } from './mapped-action.ts'
import { createRate, type Rate } from './rate.ts'
import type { SecretUse, UsedSecrets } from './auth/secret-use.ts'
import { wellFormed } from '../well-formed.ts'
import { createVerifier } from './auth/signature.ts'
import type { Verifier } from './auth/verifier.ts'

/** What a mapping sees of a request. */
export interface MappedRequest extends Omit<TemplateScope, 'item' | 'index'> {
  headers: Readonly<Record<string, string>>
}

/** What became of a request; without any action it was skipped. */
export interface ResolvedActions {
  actions: readonly Action[]
  /** The id of the request, as a transform, the mapping's template or the preset finds it. */
  providerId?: string | undefined
}

export interface Mapping {
  id: string
  /** The name that it is for; absent: any. */
  path: string | undefined
  source: string | undefined
  trusted: boolean
  /** False: the bodies of its requests are not kept. */
  keepBody: boolean
  /** Absent: its senders show the hook token. */
  verifier: Verifier | undefined
  /** Those of its own `auth`, where it has one. */
  secrets: UsedSecrets | undefined
  /** How its transform is, where it has one. */
  transform: (() => TransformState) | undefined
  /** Schema of the payload, where the preset or the transform declares one. */
  payloadSchema(): JsonSchema | undefined
  /** Lets only so many of its runs be under way at once. */
  concurrencyLimit: NewRun['concurrencyLimit']
  /** Absent: it takes any number of requests. */
  rate: Rate | undefined
  resolveActions(request: MappedRequest): Promise<ResolvedActions>
  /** The id of the request where its body alone says it. */
  idInBody(request: MappedRequest): string | undefined
}

export interface MappingSeed {
  id: string
  path: string | undefined
  config: MappingConfig
  preset?: Preset | undefined
  /** What the operator says in place of the preset. */
  settings?: MappingConfig
  /** The preset's own settings. */
  presetConfig?: Record<string, unknown>
  transform?: TransformHandle | undefined
}

interface MappingDeps {
  /** What `hooks.keepBody` says. */
  keepBody: boolean
  readAction: ReadAction
  secretUse: SecretUse
  /** The public address below which the hooks lie, where the configuration says it. */
  address?: string | undefined
  log: Log
}

export function createMapping(
  seed: MappingSeed,
  { keepBody, readAction, secretUse, address, log }: MappingDeps,
): Mapping {
  const { id, path, config, settings = {} } = seed
  const scopesOf = compileForEach(config.forEach)
  const fieldsOf = compileFields(config)
  const settingsOf = compileFields(settings)
  const idTemplate = config.idempotencyKey === undefined ? undefined : compileTemplate(config.idempotencyKey)
  const preset = seed.preset && createPresetReader(seed.preset, seed.presetConfig ?? {})
  const secrets = config.auth && secretUse.open(id, config.auth)
  const transform = seed.transform && createTransformCall(seed.transform, { config, id, log })
  const idOf = (request: MappedRequest): string | undefined =>
    notBlankOf(idTemplate?.(request)) ?? preset?.deliveryId(request)

  return {
    id,
    path,
    source: config.match?.source,
    trusted: config.allowUnsafeExternalContent === true,
    keepBody: config.keepBody ?? keepBody,
    verifier: config.auth && createVerifier(config.auth, address && `${address}/${path}`),
    secrets,
    transform: seed.transform?.state,
    payloadSchema: () => seed.preset?.payload ?? seed.transform?.payloadSchema,
    concurrencyLimit:
      config.concurrency === undefined ? undefined : { name: `mapping:${id}`, limit: config.concurrency },
    rate: config.rateLimit && createRate(config.rateLimit.maxPerMinute),
    async resolveActions(request) {
      // What templates make of a well-formed payload is well-formed; code may cut a character into halves.
      const said = wellFormed(preset ? preset.read(request) : transform ? await transform(request) : undefined)
      if (said === null) return { actions: [] }
      const resolved = scopesOf(request).flatMap((scope) => combine(fieldsOf?.(scope) ?? {}, said, settingsOf?.(scope)))
      const ownId = resolved.find(({ idempotencyKey }) => idempotencyKey !== undefined)?.idempotencyKey
      return { actions: resolved.map((fields) => readAction(fields)), providerId: ownId ?? idOf(request) }
    },
    idInBody: (request) => idOf({ ...request, headers: {}, query: {} }),
  }
}

const notBlankOf = (text: string | undefined): string | undefined => (text?.trim() ? text : undefined)

// ── Templates ───────────────────────────────────────────────────────────────────────────────────

const mostActions = 200

function compileForEach(forEach: string | undefined): (request: MappedRequest) => TemplateScope[] {
  if (forEach === undefined) return (request) => [request]
  const expression = compileExpression(forEach)
  return (request) => {
    const items = expression?.(request)
    if (!Array.isArray(items))
      throw new GatewayError(
        'invalid_request',
        `${forEach} must be a list: this hook has one action for each of its elements.`,
      )
    if (items.length > mostActions)
      throw new GatewayError(
        'invalid_request',
        `${forEach} has ${items.length} elements; ${mostActions} are the most, so send them in parts.`,
      )
    const withElement = (item: unknown, index: number): TemplateScope => ({ ...request, item, index })
    return items.map(withElement)
  }
}

/**
 * Compiles the fields that the configuration sets; undefined when it sets none. A template that renders blank leaves
 * its field unset.
 */
function compileFields(config: MappingConfig): ((scope: TemplateScope) => MappedFields) | undefined {
  const plain = defined(Object.fromEntries(plainFields.map((field) => [field, config[field]])))
  const templates = templateFields.flatMap((field) => {
    const text = config[templateKeys[field]]
    return text === undefined ? [] : [[fieldFor(field, text), compileTemplate(text)] as const]
  })
  if (templates.length === 0 && Object.keys(plain).length === 0) return undefined
  return (scope) => {
    const fields: Record<string, unknown> = { ...plain }
    for (const [field, template] of templates) {
      const text = notBlankOf(template(scope))
      if (text !== undefined) fields[field] = text
    }
    return fields
  }
}

const fieldNames = Object.keys(actionFields) as ActionField[]
const templateFields = fieldNames.filter((field) => isTemplateField(field))
const plainFields = fieldNames.filter((field) => !isTemplateField(field))

/** A payload must not choose a session outside the namespace of the hooks, so only such a key is the operator's own. */
const fieldFor = (field: TemplateField, template: string): keyof MappedFields =>
  field === 'sessionKey' && (!isTemplate(template) || isHookKey(template)) ? 'fixedKey' : field

const isHookKey = (key: string): boolean => key.trim().startsWith('hook:')

/**
 * The mapping's fields, over them what a transform or preset says, over these the operator's settings for the preset.
 */
function combine(
  fields: MappedFields,
  said: MappedFields | readonly MappedFields[] | undefined,
  settings: MappedFields | undefined,
): MappedFields[] {
  if (!said) return [merge(fields, settings)]
  return [said].flat().map((overrides) => merge(merge(fields, overrides), settings))
}

/** A session key takes the place of any other, whoever chose that. */
function merge(fields: MappedFields, overrides: MappedFields | undefined): MappedFields {
  if (!overrides) return fields
  const given = defined(overrides)
  if (given.sessionKey === undefined && given.fixedKey === undefined) return { ...fields, ...given }
  const { sessionKey: _sender, fixedKey: _operator, ...others } = fields
  return { ...others, ...given }
}

// ── Transforms and presets ──────────────────────────────────────────────────────────────────────

type Said = MappedFields | readonly MappedFields[] | null | undefined

function createTransformCall(
  handle: TransformHandle,
  { config, id, log }: { config: MappingConfig; id: string; log: Log },
) {
  const { auth: _auth, ...mapping } = config
  return async ({ payload, ...rest }: MappedRequest): Promise<Said> => {
    try {
      const { result } = await handle.run({ ...rest, mapping, payload: JSON.stringify(payload) })
      return withFixedKeys(result as Said)
    } catch (error) {
      // Its message names the file and never what the transform said.
      if (error instanceof TransformError && error.status >= 500)
        log.error({ mapping: id, fault: error.fault }, error.message)
      throw error
    }
  }
}

function createPresetReader(preset: Preset, config: Record<string, unknown>) {
  let check: Check | undefined
  return {
    read(request: MappedRequest): Said {
      check ??= compileCheck(preset.payload)
      if (!check.fits(request.payload))
        throw new GatewayError('invalid_request', `${firstProblem(check.problems(request.payload))}.`)
      return withFixedKeys(ask(() => preset.toAction?.({ ...request, config })))
    },
    deliveryId: (request: MappedRequest): string | undefined =>
      notBlankOf(ask(() => preset.deliveryId?.({ ...request, config }))),
  }
}

/**
 * Transforms and presets are the operator's choice, and so are the sessions that they name among those of the hooks.
 */
const withFixedKeys = (said: Said): Said =>
  Array.isArray(said) ? said.map(withFixedKey) : said && withFixedKey(said as MappedFields)

function withFixedKey({ sessionKey, ...fields }: MappedFields): MappedFields {
  return sessionKey !== undefined && isHookKey(sessionKey)
    ? { ...fields, fixedKey: sessionKey }
    : { ...fields, ...(sessionKey !== undefined && { sessionKey }) }
}

function ask<Answer>(question: () => Answer): Answer {
  try {
    return question()
  } catch (cause) {
    if (isInputError(cause)) throw new GatewayError('invalid_request', cause.message, { cause })
    throw new GatewayError('transform_failed', undefined, { cause })
  }
}
