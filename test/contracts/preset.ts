// What every preset must do: sample requests become actions that the gateway accepts, and signatures are checked.
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hookAuthRules } from '../../core/config/rules/hook-auth.ts'
import { type HookAuth, hookAuthSchema } from '../../core/config/schema/hook-auth.ts'
import { Mapping } from '../../core/config/schema/mappings.ts'
import { type Schemes, settingsOfScheme, signaturesOf } from '../../core/config/schemes.ts'
import { createAgentBody } from '../../core/hooks/schemas.ts'
import { signRequest } from '../../core/hooks/auth/sign-request.ts'
import { createVerifier } from '../../core/hooks/auth/verify-signature.ts'
import type { Verifier } from '../../core/hooks/auth/verifier.ts'
import { createActionReader } from '../../core/hooks/mapped-action.ts'
import { createMapping } from '../../core/hooks/mapping.ts'
import { loadBuiltins } from '../../core/loader/registry.ts'
import { findFault } from '../../core/loader/verify.ts'
import { isInputError } from '../../core/plugin/errors.ts'
import type { Json, OutgoingRequest, Preset, PresetContext, Scheme } from '../../core/plugin/plugin.ts'
import { compileCheck, listProblems } from '../../core/typebox.ts'
import { createTestContext } from './context.ts'

/** One request of the service. */
export interface PresetSample {
  /** A few words for the title of the test. */
  what: string
  payload: unknown
  /** By name in lower case. */
  headers?: Readonly<Record<string, string>>
}

/** A request as the service signs it. */
export interface SignedSample {
  /** The operator's part of `auth`: the secret. */
  auth: Readonly<Record<string, unknown>>
  headers: Readonly<Record<string, string>>
  body: string
  /** When it was signed, in milliseconds since 1970; absent: now. */
  at?: number
  /** The address that the service called, for schemes that sign it. */
  url?: string
}

/** A service that the job of a preset talks to. */
export interface JobCase<Config> {
  /** Settings that need the job. */
  config: () => Config
  /** Makes the service report one more event. */
  emit(): unknown
}

export interface PresetCase<Config> {
  /** The preset's own settings, if it has any. */
  config?: Config
  /** Requests that become actions. */
  accepted: readonly PresetSample[]
  /** Requests that start nothing. */
  skipped?: readonly PresetSample[]
  /** Requests that are answered 400. */
  refused?: readonly PresetSample[]
  /** Required for a preset with `start`: a service on this machine. */
  job?: JobCase<Config>
  /** Required for a preset with `auth`, unless its scheme has no secrets because the service signs with its own keys. */
  signed?: SignedSample
  /** The scheme of the preset, unless it is a built-in one. */
  scheme?: Scheme<never>
  /** How old a request may be, for a scheme that checks its time in a function. */
  toleranceSeconds?: number
}

export function presetContract<Payload, Config>(
  preset: Preset<Payload, Config>,
  { config, accepted, skipped = [], refused = [], job, ...signing }: PresetCase<Config>,
): void {
  const { signed, scheme } = signing
  const mapping = openMapping(preset, config ?? {})

  describe(`preset ${preset.name}`, () => {
    it('is declared without fault, with a mapping that fits', () => {
      expect(findFault(preset, { compile: true })).toBeUndefined()
      expect(listProblems(Mapping, preset.mapping)).toEqual([])
      if (config !== undefined) expect(compileCheck(preset.config ?? {}).problems(config)).toEqual([])
    })

    it.each(accepted)('makes actions that the gateway accepts of $what', async (sample) => {
      const { actions } = await mapping(sample)
      expect(actions.length).toBeGreaterThan(0)
      for (const { action, body } of actions)
        expect(action === 'wake' ? body.text : body.message).toEqual(expect.stringMatching(/\S/))
    })

    it.each(accepted)('returns the same for the same request: $what', async (sample) => {
      const once = await mapping({ ...sample, payload: deepFreeze(structuredClone(sample.payload)) })
      expect(await mapping({ ...sample, payload: structuredClone(sample.payload) })).toEqual(once)
    })

    if (preset.samples) {
      it('has samples that become actions that the gateway accepts', () => checkSamples(preset, mapping))
    }

    if (skipped.length > 0)
      it.each(skipped)('skips $what', async (sample) => expect((await mapping(sample)).actions).toEqual([]))

    if (refused.length > 0) {
      it.each(refused)('refuses $what with 400', async (sample) => {
        await expect(mapping(sample)).rejects.toMatchObject({ code: 'invalid_request' })
      })
    }

    if (job || (preset.start && (preset.needsJob?.((config ?? {}) as Config) ?? true))) {
      it('has a job that accepts each event, and offers it again if it could not be stored', async () => {
        if (!job) throw new Error('The preset has `start`; give a `job` with a service.')
        expect(preset.needsJob?.(job.config()) ?? true).toBe(true)
        await checkJob(preset, job)
      })
    }

    if (scheme) it('has a scheme without fault', () => expect(findFault(scheme, { compile: true })).toBeUndefined())

    if (preset.auth) {
      it('accepts a signed request and refuses one that was changed', async () => {
        const schemes = await schemesWith(scheme)
        if (!signed) {
          const { secret } = schemes.get(preset.auth?.scheme ?? '') ?? {}
          return expect(secret, 'The preset has `auth`; give a `signed` request of the service.').toBe(false)
        }
        const auth: HookAuth = { ...preset.auth, scheme: preset.auth?.scheme ?? '', ...signed.auth }
        expect(compileCheck(hookAuthSchema(schemes)).problems(auth)).toEqual([])
        expect([...hookAuthRules(auth, { schemes })].filter(({ warning }) => !warning)).toEqual([])
        const verifier = createVerifier(auth, { schemes, log })
        expect(await verify(verifier, signed)).toMatchObject({ ok: true })
        expect(await verify(verifier, tamperWith(verifier, signed))).toMatchObject({ ok: false })
      })
    }

    if (preset.auth && signed)
      it('verifies what `trigger` signs, and rejects another secret, another body and an old time', async () => {
        const schemes = await schemesWith(scheme)
        const auth: HookAuth = { ...preset.auth, scheme: preset.auth?.scheme ?? '', ...signed.auth }
        for (const sample of accepted)
          await checkSigning(sample, { auth, schemes, toleranceSeconds: signing.toleranceSeconds })
      })
  })
}

const { log } = createTestContext()

const schemesWith = async (scheme: Scheme<never> | undefined): Promise<Schemes> => {
  const { schemes } = await loadBuiltins()
  return scheme ? new Map([...schemes, [scheme.name, scheme]]) : schemes
}

interface Signing {
  auth: HookAuth
  schemes: Schemes
  toleranceSeconds: number | undefined
}

/** Signs as `svc-gateway trigger` does. Where the service has the only key, there is nothing to check. */
async function checkSigning({ payload, headers = {} }: PresetSample, signing: Signing): Promise<void> {
  const { auth, schemes } = signing
  const { secret, secrets: _secrets, ...rest } = auth
  const now = Date.now()
  const unsigned = { url: 'https://gateway.example.com/hooks/x', headers, body: Buffer.from(JSON.stringify(payload)) }
  const sent = trySigning(() => signRequest(auth, unsigned, { schemes, now }))
  if (!sent || secret === undefined) return expect(isSignedByService(signing)).toBe(true)
  const judge = (settings: object, at = now, body = sent.body) => {
    const verifier = createVerifier({ ...rest, ...settings }, { schemes, log })
    return verify(verifier, { ...sent, auth, body: body.toString(), at })
  }
  const other = otherSecret(secret)
  expect(await judge({ secret })).toMatchObject({ ok: true })
  expect(await judge({ secret: other })).toMatchObject({ ok: false })
  if (createVerifier(auth, { schemes, log }).signsBody)
    expect(await judge({ secret }, now, Buffer.concat([sent.body, Buffer.from(' ')]))).toMatchObject({ ok: false })
  const seconds = signing.toleranceSeconds ?? toleranceOf(signing)
  if (seconds !== undefined) expect(await judge({ secret }, now + (seconds + 2) * 1000)).toMatchObject({ ok: false })
  expect(await judge({ secrets: [other, secret] })).toMatchObject({ ok: true, secretIndex: 1 })
  const expired = { secret, notAfter: new Date(now - 1000).toISOString() }
  expect(await judge({ secrets: [other, expired] })).toMatchObject({ ok: false })
}

function trySigning(sign: () => OutgoingRequest): OutgoingRequest | undefined {
  try {
    return sign()
  } catch (error) {
    if (isInputError(error)) return undefined
    throw error
  }
}

function isSignedByService({ auth, schemes }: Signing): boolean {
  const scheme = schemes.get(auth.scheme) as Scheme<never>
  const signatures = signaturesOf(scheme, settingsOfScheme(scheme, auth))
  return scheme.createVerifier !== undefined || signatures.some(({ algorithm }) => algorithm === 'ed25519')
}

function toleranceOf({ auth, schemes }: Signing): number | undefined {
  const scheme = schemes.get(auth.scheme) as Scheme<never>
  const timed = signaturesOf(scheme, settingsOfScheme(scheme, auth)).find(({ timestamp }) => timestamp)
  return timed && (auth.toleranceSeconds ?? timed.timestamp?.toleranceSeconds ?? 300)
}

/** Another secret in the same encoding. */
function otherSecret(secret: string): string {
  const middle = Math.floor(secret.length / 2)
  return `${secret.slice(0, middle)}${secret[middle] === 'a' ? 'b' : 'a'}${secret.slice(middle + 1)}`
}

/** The preset behind the same code that serves `POST {hooks.path}/<name>`. */
function openMapping(preset: Preset, presetConfig: Record<string, unknown>) {
  const mapping = createMapping(
    { id: preset.name, path: preset.name, config: preset.mapping, preset, presetConfig },
    {
      keepBody: true,
      readAction: createActionReader(createAgentBody(new Map())),
      secretUse: { open: () => ({ note: () => undefined, list: async () => [] }) },
      schemes: new Map(),
      log,
    },
  )
  return ({ payload, headers = {} }: PresetSample) =>
    mapping.resolveActions({ payload, headers, query: {}, path: preset.name, now: '2030-01-31T09:00:00.000Z' })
}

type SamplePreset = Pick<Preset<never, never>, 'samples'>
type ResolveSample = ReturnType<typeof openMapping>

/** The second call must give new webhooks: a repeated id would start nothing. */
async function checkSamples(preset: SamplePreset, mapping: ResolveSample): Promise<void> {
  const seeds = [
    { id: '0b1d4f4e-8c0a-4b6e-9d5f-0a1b2c3d4e5f', now: '2030-01-31T09:00:00.000Z' },
    { id: '7f6e5d4c-3b2a-4190-8f7e-6d5c4b3a2910', now: '2030-01-31T09:00:01.000Z' },
  ]
  const [first = [], second = []] = await Promise.all(seeds.map(async (seed) => await preset.samples?.(seed)))
  const names = first.map(({ name }) => name)
  expect(names).not.toEqual([])
  expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))).toEqual([])
  expect(names).toEqual([...new Set(names)])
  for (const [index, { name, ...sample }] of first.entries()) {
    const { actions, providerId } = await mapping({ what: name, ...sample })
    const texts = actions.map(({ action, body }) => (action === 'wake' ? body.text : body.message))
    expect({ name, texts }).toEqual({ name, texts: texts.map(() => expect.stringMatching(/\S/)) })
    expect({ name, count: texts.length }).not.toEqual({ name, count: 0 })
    const next = second[index] && (await mapping({ what: name, ...second[index] }))
    if (providerId !== undefined) expect({ name, id: next?.providerId }).not.toEqual({ name, id: providerId })
  }
}

const verify = (verifier: Verifier, { headers, body, at = Date.now(), url = '' }: SignedSample) =>
  verifier.verify({
    header: (name) => headers[name],
    rawBody: Buffer.from(body),
    method: 'POST',
    url: () => url,
    now: at,
  })

/** Another body, or another secret where the scheme shows it without signing. */
function tamperWith({ signsBody, hiddenHeaders }: Verifier, sample: SignedSample): SignedSample {
  if (signsBody) return { ...sample, body: `${sample.body} ` }
  const secrets = new Set([...hiddenHeaders, 'authorization', 'x-svc-token'])
  const headers = Object.entries(sample.headers).map(([name, value]) => [name, secrets.has(name) ? `${value}x` : value])
  return { ...sample, headers: Object.fromEntries(headers) as Record<string, string> }
}

function deepFreeze(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze)
  return value
}

/** The first event cannot be stored, so the job tries again, or is lost and started again. */
async function checkJob<Config>(preset: Preset<never, Config>, { config, emit }: JobCase<Config>): Promise<void> {
  const { state, log } = createTestContext()
  const offered: { id: string; payload: Json }[] = []
  const arrivals = new EventTarget()
  let isStored = false
  const accept: PresetContext['accept'] = async (payload, { id }) => {
    offered.push({ id, payload })
    arrivals.dispatchEvent(new Event('offer'))
    if (!isStored) throw new Error('The store is not available.')
    return 'accepted'
  }
  const offer = async (number: number) => {
    while (offered.length < number) await once(arrivals, 'offer')
    return offered[number - 1]
  }
  const start = async () => {
    const stop = new AbortController()
    const lost = Promise.withResolvers<unknown>()
    const running = await preset.start?.(config(), { state, log, signal: stop.signal, accept, lost: lost.resolve })
    return { lost: lost.promise, end: async () => (stop.abort(), await running?.close()) }
  }
  const first = await start()
  onTestFinished(first.end)
  await emit()
  const refused = await offer(1)
  isStored = true
  await Promise.race([first.lost, offer(2)])
  await first.end()
  const second = await start()
  onTestFinished(second.end)
  expect(await offer(2)).toEqual(refused)
  await emit()
  expect((await offer(3))?.id).not.toBe(refused?.id)
}
