// One mapping: turns a request into actions with templates, a transform or a preset.
import { type ActionField, actionFields, isTemplateField, type TemplateField, templateKeys } from '../action.ts'
import {
  compileHasEmpty,
  compilePath,
  compileTemplate,
  isTemplate,
  type TemplateScope,
} from '../config/template/template.ts'
import type { MappingConfig } from '../config/schema/schema.ts'
import type { Schemes } from '../config/schemes.ts'
import { GatewayError } from '../errors.ts'
import { repeatedHeader } from '../http/auth.ts'
import { isInputError } from '../plugin/errors.ts'
import type { Log, Preset, RepeatKey } from '../plugin/plugin.ts'
import type { TransformHandle } from '../sandbox/sandbox.ts'
import type { TransformState } from '../sandbox/transform.ts'
import { TransformError } from '../sandbox/transform-error.ts'
import type { NewRun, SkippedBy } from '../store/store.ts'
import type { JsonSchema } from '../typebox.ts'
import { type Action, defined, lazily, type MappedFields, type ReadAction } from './mapped-action.ts'
import { compileConditions, compileItemSkip, compileSkip, type Matches } from './conditions.ts'
import { createBodyReader, type MappedRequest } from './mapped-request.ts'
import { findUnmet } from './match.ts'
import { createPayloadReader } from './preset-payload.ts'
import { type CheckRate, createRateLimit } from './rate-limit.ts'
import type { SecretUse, UsedSecrets } from './auth/secret-use.ts'
import { wellFormed } from '../well-formed.ts'
import { createVerifier } from './auth/verify-signature.ts'
import type { Verifier } from './auth/verifier.ts'

/** The actions of a request. An empty list skips the request. */
export interface ResolvedActions {
  actions: readonly Action[]
  /** The id that the sender gave the request, from the transform, the template of the mapping or the preset. */
  providerId?: string | RepeatKey | undefined
  /** The rule of the key `skip` that holds. There are no actions then. */
  skippedBy?: SkippedBy | undefined
}

export interface Mapping {
  id: string
  /** The hook name that it matches; undefined: any name. */
  path: string | undefined
  source: string | undefined
  /** The preset that it belongs to, if it does. */
  preset: string | undefined
  /** Whether the conditions on headers and the payload hold. Undefined: there are none. */
  matches: ((request: MappedRequest) => boolean) | undefined
  /** The keys of its `match` that do not hold. */
  findUnmet(request: MappedRequest): string[]
  /** Whether its text reaches the model without the external content wrapper. */
  trusted: boolean
  /** Whether it accepts text that is neither JSON nor a form. */
  takesText: boolean
  /** Whether the bodies of its requests are stored. */
  keepBody: boolean
  /** True: replies may go back to the sender whatever the turn has read. */
  repliesToSender: boolean
  /** Undefined: senders show the hook token. */
  verifier: Verifier | undefined
  /** The secrets of its `auth`. */
  secrets: UsedSecrets | undefined
  /** Returns the state of its transform. */
  transform: (() => TransformState) | undefined
  /** The schema of the payload that the preset or the transform declares. */
  payloadSchema(): JsonSchema | undefined
  /** Limits how many of its runs are in progress at once. */
  concurrencyLimit: NewRun['concurrencyLimit']
  /** Throws when the request exceeds the rate limit. Undefined: there is no limit. */
  checkRate: CheckRate | undefined
  resolveActions(request: MappedRequest): Promise<ResolvedActions>
  /** The id of the request, read from its body alone. */
  idInBody(request: MappedRequest): string | RepeatKey | undefined
}

export interface MappingSeed {
  id: string
  path: string | undefined
  config: MappingConfig
  preset?: Preset | undefined
  /** The section of the preset: its keys take precedence over the preset. */
  settings?: MappingConfig
  /** The settings that the schema `config` of the preset declares. */
  presetConfig?: Record<string, unknown>
  transform?: TransformHandle | undefined
}

interface MappingDeps {
  /** `hooks.keepBody` */
  keepBody: boolean
  readAction: ReadAction
  secretUse: SecretUse
  schemes: Schemes
  /** The public URL of the hook, where the configuration has one. */
  hookUrl?: string | undefined
  log: Log
}

export function createMapping(
  seed: MappingSeed,
  { keepBody, readAction, secretUse, schemes, hookUrl, log }: MappingDeps,
): Mapping {
  const { id, path, config, settings = {} } = seed
  const scopesOf = compileForEach(config.forEach)
  const fieldsOf = compileFields(config)
  const settingsOf = compileFields(settings)
  const idTemplate = config.idempotencyKey === undefined ? undefined : compileTemplate(config.idempotencyKey)
  const preset = seed.preset && createPresetReader(seed.preset, seed.presetConfig ?? {})
  const transform = seed.transform && createTransformCall(seed.transform, { config, id, log })
  const matches = compileConditions(config.match ?? {})
  const read = createBodyReader(config)
  const findSkip = compileSkip(config.skip)
  const findItemSkip = compileItemSkip(config.skip)
  const lacksId = compileHasEmpty(config.sessionKey ?? '')
  const idOf = (request: MappedRequest): string | RepeatKey | undefined =>
    notBlankOf(idTemplate?.(request)) ?? preset?.deliveryId(request)

  return {
    id,
    path,
    source: config.match?.source,
    preset: seed.preset?.name,
    matches: matches && ((request) => holds(matches, () => read(request))),
    findUnmet: (request) => findUnmet(config, request),
    trusted: config.allowUnsafeExternalContent === true,
    takesText: config.body === 'text',
    keepBody: config.keepBody ?? keepBody,
    repliesToSender: config.replyToSender === true,
    verifier: config.auth && createVerifier(config.auth, { schemes, hookUrl, log }),
    secrets: config.auth && secretUse.open(id, config.auth),
    transform: seed.transform?.state,
    payloadSchema: () => seed.preset?.payload ?? seed.transform?.payloadSchema,
    concurrencyLimit:
      config.concurrency === undefined ? undefined : { name: `mapping:${id}`, limit: config.concurrency },
    checkRate: config.rateLimit && createRateLimit(config.rateLimit.maxPerMinute),
    async resolveActions(received) {
      const request = read(received)
      const rule = findSkip?.(request)
      if (rule !== undefined) return { actions: [], skippedBy: { mapping: id, rule } }
      const result = preset ? preset.toAction(request) : transform ? await transform(request) : undefined
      // Code may cut a surrogate pair in half; templates over a well-formed payload cannot.
      const overrides = wellFormed(result)
      if (overrides === null) return { actions: [] }
      const scopes = scopesOf(request)
      const wanted = findItemSkip ? scopes.filter((scope) => findItemSkip(scope) === undefined) : scopes
      const [first] = scopes
      if (wanted.length === 0 && first && findItemSkip)
        return { actions: [], skippedBy: { mapping: id, rule: findItemSkip(first) ?? 0 } }
      const count = createActionCount(id)
      const resolved = wanted.flatMap((scope) =>
        count(combine(fieldsOf?.(scope) ?? {}, overrides, settingsOf?.(scope))),
      )
      const isVague = wanted.some(lacksId)
      if (isVague) log.warn({ mapping: id }, 'a placeholder of the session key is empty')
      const ownId = resolved.find(({ idempotencyKey }) => idempotencyKey !== undefined)?.idempotencyKey
      const actions = resolved.map((fields) => withWarning(readAction(fields), isVague && emptySessionKey(id)))
      return { actions, providerId: ownId ?? idOf(request) }
    },
    idInBody: (request) => idOf({ ...read(request), headers: {}, query: {} }),
  }
}

const withWarning = (action: Action, warning: string | false): Action => (warning ? { ...action, warning } : action)

const emptySessionKey = (id: string): string =>
  `A placeholder of the session key of the mapping "${id}" is empty, so that unrelated requests may share a session.`

/** A form whose JSON cannot be read meets no conditions, so that a later mapping may match. */
function holds(matches: Matches, read: () => MappedRequest): boolean {
  try {
    return matches(read())
  } catch (error) {
    if (error instanceof GatewayError) return false
    throw error
  }
}

const notBlankOf = (text: string | undefined): string | undefined => (text?.trim() ? text : undefined)

// ── Templates ───────────────────────────────────────────────────────────────────────────────────

const maxActions = 200

function compileForEach(forEach: string | undefined): (request: MappedRequest) => TemplateScope[] {
  if (forEach === undefined) return (request) => [request]
  const expression = compilePath(forEach)
  return (request) => {
    const items = expression?.(request)
    if (!Array.isArray(items))
      throw new GatewayError(
        'invalid_request',
        `${forEach} must be a list: this hook starts one action for each element.`,
      )
    if (items.length > maxActions)
      throw new GatewayError(
        'invalid_request',
        `${forEach} has ${items.length} elements; the maximum is ${maxActions}. Send them in several requests.`,
      )
    const withElement = (item: unknown, index: number): TemplateScope => ({ ...request, item, index })
    return items.map(withElement)
  }
}

/** The maximum of all actions of one request together, in UTF-8. */
const maxTextBytes = 4 * 1024 * 1024

/**
 * Bounds what one request becomes, while its actions are resolved: each action may hold the whole payload.
 * @returns a function that passes the actions on, and throws `invalid_request` if they are too many or too large
 */
function createActionCount(mapping: string): (actions: MappedFields[]) => MappedFields[] {
  let [number, bytes] = [0, 0]
  const tooMuch = (what: string): GatewayError =>
    new GatewayError(
      'invalid_request',
      `The mapping "${mapping}" makes ${what} of this request; send less, or let it use less of the payload for each ` +
        'action.',
    )
  return (actions) => {
    number += actions.length
    if (number > maxActions) throw tooMuch(`more than ${maxActions} actions`)
    for (const fields of actions)
      for (const value of Object.values(fields)) if (typeof value === 'string') bytes += Buffer.byteLength(value)
    if (bytes > maxTextBytes) throw tooMuch('more than 4 MiB of text')
    return actions
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

/** A template outside the namespace `hook:` would let the payload choose any session: it counts as the sender's key. */
const fieldFor = (field: TemplateField, template: string): keyof MappedFields =>
  field === 'sessionKey' && (!isTemplate(template) || isHookKey(template)) ? 'operatorKey' : field

const isHookKey = (key: string): boolean => key.trim().startsWith('hook:')

/** Later fields take precedence: the mapping, the result of the transform or preset, the section of the preset. */
function combine(
  fields: MappedFields,
  result: MappedFields | readonly MappedFields[] | undefined,
  settings: MappedFields | undefined,
): MappedFields[] {
  if (!result) return [merge(fields, settings)]
  return [result].flat().map((overrides) => merge(merge(fields, overrides), settings))
}

/** A session key replaces any earlier one, whether the sender or the operator chose it. */
function merge(fields: MappedFields, overrides: MappedFields | undefined): MappedFields {
  if (!overrides) return fields
  const given = defined(overrides)
  if (given.sessionKey === undefined && given.operatorKey === undefined) return { ...fields, ...given }
  const { sessionKey: _sender, operatorKey: _operator, ...others } = fields
  return { ...others, ...given }
}

// ── Transforms and presets ──────────────────────────────────────────────────────────────────────

type Result = MappedFields | readonly MappedFields[] | null | undefined

function createTransformCall(
  handle: TransformHandle,
  { config, id, log }: { config: MappingConfig; id: string; log: Log },
) {
  const { auth: _auth, ...mapping } = config
  return async ({ payload, isForm: _isForm, ...rest }: MappedRequest): Promise<Result> => {
    try {
      const { result } = await handle.run({ ...rest, mapping, payload: JSON.stringify(payload) })
      return withFixedKeys(result as Result)
    } catch (error) {
      // The message names the file and quotes nothing that the transform threw.
      if (error instanceof TransformError && error.status >= 500)
        log.error({ mapping: id, fault: error.fault }, error.message)
      throw error
    }
  }
}

function createPresetReader(preset: Preset, config: Record<string, unknown>) {
  const reader = lazily(() => createPayloadReader(preset.payload))
  return {
    toAction(request: MappedRequest): Result {
      const { payload, problem } = reader()(request.payload)
      if (problem !== undefined) throw new GatewayError('invalid_request', `${problem}.`)
      return withFixedKeys(callPreset(() => preset.toAction?.({ ...request, payload, config })))
    },
    deliveryId(request: MappedRequest): string | RepeatKey | undefined {
      const { payload } = reader()(request.payload)
      const id = callPreset(() => preset.deliveryId?.({ ...request, headers: singleHeaders(request), payload, config }))
      return typeof id === 'string' ? notBlankOf(id) : id
    },
  }
}

/** The operator chose the transform or preset, so a key in the namespace `hook:` counts as the operator's. */
const withFixedKeys = (result: Result): Result =>
  Array.isArray(result) ? result.map(withFixedKey) : result && withFixedKey(result as MappedFields)

function withFixedKey({ sessionKey, ...fields }: MappedFields): MappedFields {
  return sessionKey !== undefined && isHookKey(sessionKey)
    ? { ...fields, operatorKey: sessionKey }
    : { ...fields, ...(sessionKey !== undefined && { sessionKey }) }
}

/** The headers of a request. Reading one that was repeated throws `malformed_header`: its values would be one id. */
function singleHeaders({ headers, repeatedHeaders = [] }: MappedRequest): MappedRequest['headers'] {
  const single = { ...headers }
  for (const name of repeatedHeaders)
    Object.defineProperty(single, name, {
      get: () => {
        throw repeatedHeader(name)
      },
    })
  return single
}

function callPreset<Result>(call: () => Result): Result {
  try {
    return call()
  } catch (cause) {
    if (cause instanceof GatewayError && cause.code === 'malformed_header') throw cause
    if (isInputError(cause)) throw new GatewayError('invalid_request', cause.message, { cause })
    throw new GatewayError('transform_failed', undefined, { cause })
  }
}
