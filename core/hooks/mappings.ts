// Which mapping has a request: the user's in their order, then the presets; found in the same time however many there
// are.
import { isHookName, normalizeHookName } from '../config/hooks-path.ts'
import { resolvePresetSettings } from '../config/preset-settings.ts'
import type { Config, MappingConfig } from '../config/schema.ts'
import { presetSection } from '../config/schema/hooks.ts'
import type { Log, Preset } from '../plugin.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { createAgentBody } from './schemas.ts'
import { createActionReader } from './mapped-action.ts'
import { createMapping, type Mapping, type MappingSeed } from './mapping.ts'
import type { SecretUse, UsedSecrets } from './auth/secret-use.ts'
import type { Verifier } from './auth/verifier.ts'

/** A verifier, and the secrets whose use it tells of. */
interface Guarding {
  verifier: Verifier
  secrets: UsedSecrets | undefined
}

/** What is behind a name. */
export interface HookRoute {
  /** The mappings that a request may reach, in order. */
  mappings: readonly Mapping[]
  /** Those of its senders that prove who they are by a signature or a secret of their own. */
  verifiers: readonly Guarding[]
  /** Headers, in lower case, that hold a secret or a signature of theirs. */
  hidden: readonly string[]
  /** Whether all of them keep the bodies of their requests. */
  keepBody: boolean
  /** Whether the hook token opens it. */
  token: boolean
  /** Whether one of them has a transform, which nobody may close as long as a request is in. */
  transforms: boolean
  find(payload: unknown): Mapping | undefined
}

export interface Mappings {
  /** The names that mappings are for. */
  names: readonly string[]
  /** What is behind every other name. */
  elsewhere: HookRoute
  /** Without mappings where there is no hook of this name. */
  at(name: string): HookRoute
  byId(id: string): Mapping | undefined
  /** A request comes in; call what it returns when the request is over. */
  enter(): () => void
  /** Lets the transforms go once no request is in; resolves then. */
  close(): Promise<void>
}

interface MappingsDeps {
  hooks: Config['hooks']
  /** The address at which senders reach the gateway, where the configuration says it. */
  publicUrl?: string | undefined
  presets: ReadonlyMap<string, Preset>
  agentBody: ReturnType<typeof createAgentBody>
  sandbox: Sandbox
  secretUse: SecretUse
  log: Log
}

export function createMappings({
  hooks,
  publicUrl,
  presets,
  agentBody,
  sandbox,
  secretUse,
  log,
}: MappingsDeps): Mappings {
  const readAction = createActionReader(agentBody)
  const seeds = [
    ...hooks.mappings.map((config, index) => seedOf(config, { index, sandbox })),
    ...hooks.presets.map((name) => presetSeed(name, { hooks, presets })),
  ]
  const address = publicUrl && publicUrl + hooks.path
  const all = seeds.map((seed) =>
    createMapping(seed, { keepBody: hooks.keepBody, readAction, secretUse, address, log }),
  )
  const byId = new Map(all.toReversed().map((mapping) => [mapping.id, mapping]))
  const names = [...new Set(all.flatMap(({ path = '' }) => (isHook(path) ? path : [])))]
  const hookRoutes = new Map(
    names.map((name) => [name, createHookRoute(all.filter(({ path }) => path === name || path === undefined))]),
  )
  const elsewhere = createHookRoute(all.filter(({ path }) => path === undefined))
  const inFlight = createInFlightCount()

  return {
    names,
    elsewhere,
    at: (name) => (isHook(name) ? (hookRoutes.get(name) ?? elsewhere) : noHookRoute),
    byId: (id) => byId.get(id),
    enter: inFlight.enter,
    close: async () => {
      await inFlight.empty()
      for (const { transform } of seeds) transform?.close()
    },
  }
}

/** Counts who is in. */
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
    empty: async (): Promise<void> => {
      closing = true
      if (count > 0) await waiting.promise
    },
  }
}

/** `wake` and `agent` are the gateway's own. */
const isHook = (path: string): boolean => isHookName(path) && path !== 'wake' && path !== 'agent'

function createHookRoute(mappings: readonly Mapping[]): HookRoute {
  const verifiers = mappings.flatMap(({ verifier, secrets }) => (verifier ? { verifier, secrets } : []))
  const bySource = firstOfEachSource(mappings)
  return {
    mappings,
    verifiers,
    hidden: verifiers.flatMap(({ verifier }) => verifier.hiddenHeaders),
    keepBody: mappings.every((mapping) => mapping.keepBody),
    token: mappings.some(({ verifier }) => verifier === undefined),
    transforms: mappings.some(({ transform }) => transform !== undefined),
    find: (payload) => bySource.get(sourceOf(payload)) ?? bySource.get(undefined),
  }
}

const noHookRoute = createHookRoute([])

/** Behind one that takes any source no other is reached. */
function firstOfEachSource(mappings: readonly Mapping[]): ReadonlyMap<string | undefined, Mapping> {
  const firsts = new Map<string | undefined, Mapping>()
  for (const mapping of mappings) {
    if (!firsts.has(mapping.source)) firsts.set(mapping.source, mapping)
    if (mapping.source === undefined) break
  }
  return firsts
}

/** Only a text that the payload itself holds. */
function sourceOf(payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null || !Object.hasOwn(payload, 'source')) return undefined
  const { source } = payload as { source?: unknown }
  return typeof source === 'string' ? source : undefined
}

function seedOf(config: MappingConfig, { index, sandbox }: { index: number; sandbox: Sandbox }): MappingSeed {
  const { id = `mappings[${index}]`, match, transform } = config
  const handle = transform && sandbox.load(transform.module, transform)
  return { id, path: match?.path === undefined ? undefined : normalizeHookName(match.path), config, transform: handle }
}

function presetSeed(name: string, { hooks, presets }: Pick<MappingsDeps, 'hooks' | 'presets'>): MappingSeed {
  const preset = presets.get(name)
  const { auth, ...settings } = presetSection(hooks, name)
  const presetConfig = preset && resolvePresetSettings(preset, settings)
  const { keepBody, concurrency, rateLimit, allowUnsafeExternalContent, idempotencyKey } = settings
  const config = {
    ...preset?.mapping,
    ...(keepBody !== undefined && { keepBody }),
    ...(concurrency !== undefined && { concurrency }),
    ...(rateLimit && { rateLimit }),
    ...(allowUnsafeExternalContent !== undefined && { allowUnsafeExternalContent }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(auth && { auth: { ...preset?.auth, ...auth } }),
  } as MappingConfig
  return { id: name, path: name, config, preset, settings, ...(presetConfig && { presetConfig }) }
}
