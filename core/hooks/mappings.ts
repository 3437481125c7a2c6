// Which mapping has a request: the user's in their order, then the presets; found in the same time however many there are.
import { normalizeHookName } from '../config/hooks-path.ts'
import { resolvePresetSettings } from '../config/preset-settings.ts'
import type { Config, MappingConfig } from '../config/schema.ts'
import { presetSection } from '../config/schema/hooks.ts'
import type { Log, Preset } from '../plugin.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { createAgentBody } from './action.ts'
import { createActionReader } from './mapped-action.ts'
import { createMapping, type Mapping, type MappingSeed } from './mapping.ts'
import type { SecretUse, UsedSecrets } from './secret-use.ts'
import type { Verifier } from './signature.ts'

/** A verifier, and the secrets whose use it tells of. */
interface Guarding {
  verifier: Verifier
  secrets: UsedSecrets | undefined
}

/** How those who call a name may prove who they are. */
export interface Proofs {
  verifiers: readonly Guarding[]
  /** Headers, in lower case, that hold a secret or a signature of theirs. */
  hidden: readonly string[]
  /** Whether the hook token opens it. */
  token: boolean
}

export interface Mappings {
  /** The names that mappings are for. */
  names: readonly string[]
  /** Those that are for every name. */
  anywhere: readonly Mapping[]
  /** The mappings that a request for this name may reach, in order. */
  of(name: string): readonly Mapping[]
  proofs(name: string): Proofs
  find(name: string, payload: unknown): Mapping | undefined
  byId(id: string): Mapping | undefined
  /** A request comes in; call what it returns when the request is over. */
  enter(): () => void
  /** Lets the transforms go once no request is in; resolves then. */
  close(): Promise<void>
}

interface MappingsDeps {
  hooks: Config['hooks']
  presets: ReadonlyMap<string, Preset>
  agentBody: ReturnType<typeof createAgentBody>
  sandbox: Sandbox
  secretUse: SecretUse
  log: Log
}

export function createMappings({ hooks, presets, agentBody, sandbox, secretUse, log }: MappingsDeps): Mappings {
  const readAction = createActionReader(agentBody)
  const seeds = [
    ...hooks.mappings.map((config, index) => seedOf(config, { index, sandbox })),
    ...hooks.presets.map((name) => presetSeed(name, { hooks, presets })),
  ]
  const all = seeds.map((seed) => createMapping(seed, { readAction, secretUse, log }))
  const placeOf = createPlaces(all)
  const byPath = Map.groupBy(all, ({ path }) => path)
  const anywhere = byPath.get(undefined) ?? []
  const byId = new Map(all.toReversed().map((mapping) => [mapping.id, mapping]))
  const names = [...byPath.keys()].filter((path) => path !== undefined && !isServed(path)) as string[]
  const reachable = new Map(names.map((name) => [name, all.filter(({ path }) => path === name || path === undefined)]))
  const proofs = new Map(Array.from(reachable, ([name, mappings]) => [name, proofsOf(mappings)]))
  const noProofs: Proofs = { verifiers: [], hidden: [], token: true }
  const gate = createGate()

  return {
    names,
    anywhere,
    of: (name) => (isNothing(name) ? [] : (reachable.get(normalizeHookName(name)) ?? anywhere)),
    proofs: (name) => proofs.get(normalizeHookName(name)) ?? noProofs,
    find(name, payload) {
      if (isNothing(name)) return undefined
      const path = normalizeHookName(name)
      const source = sourceOf(payload)
      return all[Math.min(placeOf(path, source), placeOf(path, undefined), placeOf(undefined, source), placeOf(undefined, undefined))]
    },
    byId: (id) => byId.get(id),
    enter: gate.enter,
    close: async () => {
      await gate.empty()
      for (const { transform } of seeds) transform?.close()
    },
  }
}

/** Counts who is in. */
function createGate() {
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

/** These two are the gateway's own, however many slashes there are. */
const isServed = (path: string): boolean => path === 'wake' || path === 'agent'
const isNothing = (name: string): boolean => normalizeHookName(name) === '' || isServed(normalizeHookName(name))

/** The place of the first mapping with exactly this path and source, either of which may be none; Infinity: there is no such mapping. */
function createPlaces(all: readonly Mapping[]): (path: string | undefined, source: string | undefined) => number {
  const places = new Map<string | undefined, Map<string | undefined, number>>()
  for (const [index, { path, source }] of all.entries()) {
    const sources = places.get(path) ?? new Map<string | undefined, number>()
    if (!sources.has(source)) sources.set(source, index)
    places.set(path, sources)
  }
  return (path, source) => places.get(path)?.get(source) ?? Infinity
}

/** Only a text that the payload itself holds. */
function sourceOf(payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null || !Object.hasOwn(payload, 'source')) return undefined
  const { source } = payload as { source?: unknown }
  return typeof source === 'string' ? source : undefined
}

function proofsOf(mappings: readonly Mapping[]): Proofs {
  const verifiers = mappings.flatMap(({ verifier, secrets }) => (verifier ? { verifier, secrets } : []))
  return { verifiers, hidden: verifiers.flatMap(({ verifier }) => verifier.hiddenHeaders), token: mappings.some(({ verifier }) => verifier === undefined) }
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
  const { concurrency, rateLimit, allowUnsafeExternalContent, idempotencyKey } = settings
  const config = {
    ...preset?.mapping,
    ...(concurrency !== undefined && { concurrency }),
    ...(rateLimit && { rateLimit }),
    ...(allowUnsafeExternalContent !== undefined && { allowUnsafeExternalContent }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(auth && { auth: { ...preset?.auth, ...auth } }),
  } as MappingConfig
  return { id: name, path: name, config, preset, settings, ...(presetConfig && { presetConfig }) }
}
