// Finds the mapping of a request: the mappings in their order, then the presets, in constant time.
import { hookUrlOf, isHookName, normalizeHookName } from '../config/hooks-path.ts'
import { resolvePresetSettings } from '../config/preset-settings.ts'
import type { Config, MappingConfig } from '../config/schema/schema.ts'
import type { Schemes } from '../config/schemes.ts'
import { presetSection } from '../config/schema/hooks.ts'
import type { Log, Preset } from '../plugin/plugin.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { createAgentBody } from './schemas.ts'
import { createActionReader, defined } from './mapped-action.ts'
import type { MappedRequest } from './mapped-request.ts'
import { sourceOf } from './match.ts'
import { createMapping, type Mapping, type MappingSeed } from './mapping.ts'
import type { SecretUse, UsedSecrets } from './auth/secret-use.ts'
import type { Verifier } from './auth/verifier.ts'

/** A verifier, and the record of when its secrets were used. */
interface RouteVerifier {
  verifier: Verifier
  secrets: UsedSecrets | undefined
}

/** The mappings of one hook name. */
export interface HookRoute {
  /** The mappings that a request may reach, in order. */
  mappings: readonly Mapping[]
  /** The verifiers of the mappings that have their own `auth`. */
  verifiers: readonly RouteVerifier[]
  /** Headers, in lower case, that hold a secret or a signature for these verifiers. */
  hiddenHeaders: readonly string[]
  /** Whether every mapping stores the bodies of its requests. Without mappings: `hooks.keepBody`. */
  keepBody: boolean
  /** Whether at least one mapping accepts the hook token. */
  acceptsToken: boolean
  /** Whether a mapping has a transform, which must stay open while a request is in progress. */
  hasTransform: boolean
  findMapping(request: MappedRequest): Mapping | undefined
}

export interface Mappings {
  /** The hook names that mappings match. */
  names: readonly string[]
  /** The route of every other name. */
  fallback: HookRoute
  /** The route of a name; it has no mappings when there is no such hook. */
  routeFor(name: string): HookRoute
  byId(id: string): Mapping | undefined
  /** Counts a request in; call the returned function when the request ends. */
  enter(): () => void
  /** Closes the transforms when no request is in progress any more, and then resolves. */
  close(): Promise<void>
}

interface MappingsDeps {
  config: Pick<Config, 'gateway' | 'hooks'>
  presets: ReadonlyMap<string, Preset>
  schemes: Schemes
  agentBody: ReturnType<typeof createAgentBody>
  sandbox: Sandbox
  secretUse: SecretUse
  log: Log
}

export function createMappings({
  config,
  presets,
  schemes,
  agentBody,
  sandbox,
  secretUse,
  log,
}: MappingsDeps): Mappings {
  const { hooks } = config
  const readAction = createActionReader(agentBody)
  const seeds = [
    ...hooks.mappings.map((mapping, index) => seedOf(mapping, { index, sandbox })),
    ...hooks.presets.map((name) => presetSeed(name, { hooks, presets })),
  ]
  const all = seeds.map((seed) => {
    const hookUrl = seed.path && hookUrlOf(config, seed.path)
    return createMapping(seed, { keepBody: hooks.keepBody, readAction, secretUse, schemes, hookUrl, log })
  })
  const byId = new Map(all.toReversed().map((mapping) => [mapping.id, mapping]))
  const names = [...new Set(all.flatMap(({ path = '' }) => (isHook(path) ? path : [])))]
  const createRoute = (name?: string): HookRoute =>
    createHookRoute(
      all.filter(({ path }) => path === name || path === undefined),
      hooks,
    )
  const hookRoutes = new Map(names.map((name) => [name, createRoute(name)]))
  const fallback = createRoute()
  const none = createHookRoute([], hooks)
  const inFlight = createInFlightCount()

  return {
    names,
    fallback,
    routeFor: (name) => (isHook(name) ? (hookRoutes.get(name) ?? fallback) : none),
    byId: (id) => byId.get(id),
    enter: inFlight.enter,
    close: async () => {
      await inFlight.waitUntilEmpty()
      for (const { transform } of seeds) transform?.close()
    },
  }
}

/** Counts the requests in progress. */
function createInFlightCount() {
  let count = 0
  const waiting = Promise.withResolvers<void>()
  let closing = false
  return {
    enter: () => {
      count++
      return () => {
        count--
        if (closing && count === 0) waiting.resolve()
      }
    },
    waitUntilEmpty: async (): Promise<void> => {
      closing = true
      if (count > 0) await waiting.promise
    },
  }
}

/** The gateway itself serves `wake` and `agent`. */
const isHook = (path: string): boolean => isHookName(path) && path !== 'wake' && path !== 'agent'

function createHookRoute(mappings: readonly Mapping[], { keepBody }: Pick<Config['hooks'], 'keepBody'>): HookRoute {
  const verifiers = mappings.flatMap(({ verifier, secrets }) => (verifier ? { verifier, secrets } : []))
  const bySource = groupBySource(mappings)
  return {
    mappings,
    verifiers,
    hiddenHeaders: verifiers.flatMap(({ verifier }) => verifier.hiddenHeaders),
    keepBody: mappings.length === 0 ? keepBody : mappings.every((mapping) => mapping.keepBody),
    acceptsToken: mappings.some(({ verifier }) => verifier === undefined),
    hasTransform: mappings.some(({ transform }) => transform !== undefined),
    findMapping(request) {
      const candidates = bySource.get(sourceOf(request.payload)) ?? bySource.get(undefined)
      return candidates?.find(({ matches }) => matches === undefined || matches(request))
    },
  }
}

/** The mappings for each source in their order; those for any source, also under undefined, are in every list. */
function groupBySource(mappings: readonly Mapping[]): ReadonlyMap<string | undefined, readonly Mapping[]> {
  const groups = new Map<string | undefined, Mapping[]>([[undefined, []]])
  for (const { source } of mappings) groups.set(source, [])
  for (const mapping of mappings) {
    const lists = mapping.source === undefined ? groups.values() : [groups.get(mapping.source) ?? []]
    // Mappings after one without conditions are never reached.
    for (const list of lists) if (list.at(-1)?.matches !== undefined || list.length === 0) list.push(mapping)
  }
  return groups
}

function seedOf(config: MappingConfig, { index, sandbox }: { index: number; sandbox: Sandbox }): MappingSeed {
  const { id = `mappings[${index}]`, match, transform } = config
  const handle = transform && sandbox.load(transform.module, transform)
  return { id, path: match?.path === undefined ? undefined : normalizeHookName(match.path), config, transform: handle }
}

function presetSeed(
  name: string,
  { hooks, presets }: Pick<MappingsDeps, 'presets'> & Pick<Config, 'hooks'>,
): MappingSeed {
  const preset = presets.get(name)
  const { auth, ...settings } = presetSection(hooks, name)
  const presetConfig = preset && resolvePresetSettings(preset, settings)
  const { keepBody, concurrency, rateLimit, allowUnsafeExternalContent, replyToSender, idempotencyKey, skip } = settings
  const config = {
    ...preset?.mapping,
    ...defined({
      keepBody,
      concurrency,
      rateLimit,
      allowUnsafeExternalContent,
      replyToSender,
      idempotencyKey,
      skip,
    }),
    ...(auth && { auth: { ...preset?.auth, ...auth } }),
  } as MappingConfig
  return { id: name, path: name, config, preset, settings, ...(presetConfig && { presetConfig }) }
}
