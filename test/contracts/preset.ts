// What every preset must do: sample requests become actions that the gateway accepts, and signatures are checked.
import { once } from 'node:events'
import { expect } from 'vitest'
import { fillDefaults } from '../../core/config/defaults.ts'
import { hookAuthRules } from '../../core/config/rules/hook-auth.ts'
import { type HookAuth, hookAuthSchema } from '../../core/config/schema/hook-auth.ts'
import { type Schemes, settingsOfScheme, signaturesOf } from '../../core/config/schemes.ts'
import { createAgentBody } from '../../core/hooks/schemas.ts'
import { signRequest } from '../../core/hooks/auth/sign-request.ts'
import { createVerifier } from '../../core/hooks/auth/verify-signature.ts'
import type { Verifier } from '../../core/hooks/auth/verifier.ts'
import { createActionReader } from '../../core/hooks/mapped-action.ts'
import { createMapping } from '../../core/hooks/mapping.ts'
import { loadBuiltins } from '../../core/loader/registry.ts'
import { findFaults } from '../../core/loader/verify.ts'
import { presetFaults } from '../../core/loader/verify-preset.ts'
import { isInputError } from '../../core/plugin/errors.ts'
import type { Json, JsonSchema, OutgoingRequest, Preset, PresetContext, Scheme } from '../../core/plugin/plugin.ts'
import { compileCheck } from '../../core/typebox.ts'
import { checkSessionKey } from '../../core/sessions/keys.ts'
import { type Check, describeChecks } from './check.ts'
import { createTestContext } from './context.ts'
import { panelChecks } from './panel-checks.ts'

/** One request of the service. */
export interface PresetSample {
  /** A few words for the title of the test. */
  what: string
  payload: unknown
  /** By name in lower case. */
  headers?: Readonly<Record<string, string>>
  /** Settings for this request, in place of those of the case. */
  config?: Readonly<Record<string, unknown>>
  /** Fields of the expected action, such as `message` and `sessionKey`, or of each of several. Absent: any. */
  result?: ExpectedAction | readonly ExpectedAction[]
}

/** Fields of an action that a test expects. */
export type ExpectedAction = Readonly<Record<string, unknown>>

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
  /** The service sends the hook token, since it can be given a header or an address. Required without `auth`. */
  hookToken?: boolean
  /** All requests belong to one session. Otherwise at least two of the accepted ones must have different sessions. */
  oneSession?: boolean
}

export const presetContract = <Payload, Config>(preset: Preset<Payload, Config>, settings: PresetCase<Config>): void =>
  describeChecks(preset, { checks: presetChecks(preset, settings), also: settings.scheme && [settings.scheme] })

export function presetChecks<Payload, Config>(preset: Preset<Payload, Config>, settings: PresetCase<Config>): Check[] {
  const { config, accepted, skipped = [], refused = [], job, scheme } = settings
  const resolve = openMapping(preset, config ?? {})
  const needsJob = job !== undefined || (preset.start && (preset.needsJob?.((config ?? {}) as Config) ?? true))
  return [
    {
      name: 'is declared without fault, with a mapping that fits',
      advice: 'Correct the declaration, the mapping or the settings of the case.',
      async run() {
        expect(findFaults(preset)).toEqual([])
        expect([...presetFaults(preset, await schemesWith(scheme))]).toEqual([])
        if (config !== undefined) expect(compileCheck(preset.config ?? {}).problems(config)).toEqual([])
      },
    },
    ...actionChecks(preset, { accepted, resolve }),
    ...sessionChecks({ ...settings, resolve }),
    ...sampleChecks(preset, resolve),
    ...skipped.map((sample) => ({
      name: `skips ${sample.what}`,
      advice: 'Return `null` for requests that start nothing.',
      run: async () => expect((await resolve(sample)).actions).toEqual([]),
    })),
    ...refused.map((sample) => ({
      name: `refuses ${sample.what} with 400`,
      advice: 'Describe what the preset reads in the schema `payload`, or throw an InputError.',
      run: () => expect(resolve(sample)).rejects.toMatchObject({ code: 'invalid_request' }),
    })),
    ...(needsJob
      ? [
          {
            name: 'has a job that accepts each event, and offers it again if it could not be stored',
            advice: 'Await `accept`, go on only when it resolves, and give each event the id that the service gave it.',
            async run() {
              if (!job) throw new Error('The preset has `start`; give a `job` with a service.')
              expect(preset.needsJob?.(job.config()) ?? true).toBe(true)
              await checkJob(preset, job)
            },
          },
        ]
      : []),
    ...(scheme
      ? [
          {
            name: 'has a scheme without fault',
            advice: 'Correct the declaration of the scheme.',
            run: () => expect(findFaults(scheme)).toEqual([]),
          },
        ]
      : []),
    ...authChecks(preset, settings),
    ...panelChecks(preset),
  ]
}

type Resolve = ReturnType<typeof openMapping>

interface Told {
  accepted: readonly PresetSample[]
  resolve: Resolve
}

type AnyPreset = Pick<Preset<never, never>, 'name' | 'auth' | 'config' | 'samples'>

function actionChecks(preset: AnyPreset, { accepted, resolve }: Told): Check[] {
  return accepted.flatMap((sample) => [
    {
      name: `makes actions that the gateway accepts of ${sample.what}`,
      advice: 'Return a `message` with a text for each action, and only fields that a mapping has.',
      async run() {
        const { actions } = await resolve(sample)
        expect(actions.length).toBeGreaterThan(0)
        expect(actions.map(textOfAction)).toEqual(actions.map(() => expect.stringMatching(/\S/)))
        const { result } = sample
        if (result === undefined) return
        expect(actions.map(fieldsOfAction)).toMatchObject(Array.isArray(result) ? result : [result])
      },
    },
    {
      name: `returns the same for the same request: ${sample.what}`,
      advice: 'Let `toAction` and `deliveryId` depend on the request alone, and change nothing in it.',
      async run() {
        const once = await resolve({ ...sample, payload: deepFreeze(structuredClone(sample.payload)) })
        expect(await resolve({ ...sample, payload: structuredClone(sample.payload) })).toEqual(once)
      },
    },
    {
      name: `keeps to its own sessions: ${sample.what}`,
      advice: `Begin each \`sessionKey\` with "hook:${preset.name}:", and leave the agent and the model to the operator.`,
      run: () => checkSession(preset, { sample, resolve }),
    },
    {
      name: `limits what the sender can put into a message: ${sample.what}`,
      advice: 'Shorten texts of the payload with `clip`, `quote` or `eventMessage`.',
      run: () => checkLength({ sample, resolve }),
    },
  ])
}

type MappedAction = Awaited<ReturnType<Resolve>>['actions'][number]

const textOfAction = ({ action, body }: MappedAction): string => (action === 'wake' ? body.text : body.message)

/** What decides about the session, whether the sender or the preset chose it. */
const keyOf = ({ body }: MappedAction): string | undefined => body.operatorKey ?? body.sessionKey

/** The fields under the names that an author knows. */
function fieldsOfAction(action: MappedAction): object {
  const { operatorKey: _key, ...body } = action.body
  return { action: action.action, ...body, sessionKey: keyOf(action) }
}

async function checkSession({ name }: AnyPreset, { sample, resolve }: { sample: PresetSample; resolve: Resolve }) {
  for (const action of (await resolve(sample)).actions) {
    const key = keyOf(action)
    const isOwn = key === undefined || key === `hook:${name}` || key.startsWith(`hook:${name}:`)
    expect(isOwn, `the session key "${key}"`).toBe(true)
    if (key !== undefined) checkSessionKey(key)
    expect(Object.keys(action.body).filter((field) => operatorFields.has(field))).toEqual([])
  }
}

/** The gateway refuses agents, models and accounts that its operator has not configured. */
const operatorFields: ReadonlySet<string> = new Set(['accountId', 'agentId', 'channel', 'model', 'to'])

/** Far above what a preset says about one event. */
const maxMessage = 50_000

/** Makes each text long that reaches a message, one after the other. */
async function checkLength({ sample, resolve }: { sample: PresetSample; resolve: Resolve }): Promise<void> {
  const message = (await resolve(sample)).actions.map(textOfAction).join('\n')
  const reaching = textsIn(sample.payload).filter(({ text }) => text.trim() !== '' && message.includes(text.trim()))
  const tooLong: string[] = []
  for (const { path, text } of reaching) {
    const payload: unknown = structuredClone(sample.payload)
    setIn(payload, path, `${text} ${'many words '.repeat(6_000)}`)
    // Where only some texts are allowed, a long one is refused.
    const actions = await resolve({ ...sample, payload }).then(
      (resolved) => resolved.actions,
      () => [],
    )
    if (actions.some((action) => textOfAction(action).length > maxMessage)) tooLong.push(path.join('.'))
  }
  expect(tooLong, 'fields whose whole text gets into the message').toEqual([])
}

interface Leaf {
  path: readonly string[]
  text: string
}

function textsIn(value: unknown, path: readonly string[] = []): Leaf[] {
  if (typeof value === 'string') return path.length > 0 ? [{ path, text: value }] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => textsIn(member, [...path, key]))
}

function setIn(root: unknown, path: readonly string[], text: string): void {
  const owner = path.slice(0, -1).reduce((value, key) => (value as Record<string, unknown>)[key], root)
  ;(owner as Record<string, unknown>)[path.at(-1) ?? ''] = text
}

function sessionChecks({
  accepted,
  oneSession = false,
  resolve,
}: Told & { oneSession?: boolean | undefined }): Check[] {
  if (oneSession || accepted.length < 2) return []
  return [
    {
      name: 'has a session for each subject',
      advice:
        'Put the id of the subject into `sessionKey`, such as that of an order. If all requests belong together, set ' +
        '`oneSession`; otherwise accept requests about two subjects.',
      async run() {
        const resolved = await Promise.all(accepted.map(resolve))
        const keys = resolved.flatMap(({ actions }) => actions.map(keyOf))
        const isShared = keys[0] !== undefined && keys.every((key) => key === keys[0])
        expect(isShared, `all requests have the session "${keys[0]}"`).toBe(false)
      },
    },
  ]
}

/** The samples must start something with the settings of the case, and with none. */
function sampleChecks(preset: AnyPreset, resolve: Resolve): Check[] {
  if (!preset.samples) return []
  const advice = 'Let each sample start something, also where nothing is configured, and use the seed in its id.'
  return [
    {
      name: 'has samples that become actions that the gateway accepts',
      advice,
      run: () => checkSamples(preset, resolve),
    },
    ...(preset.config && hasDefaults(preset.config)
      ? [
          {
            name: 'has samples that start something with the default settings',
            advice,
            run: () => checkSamples(preset, (sample) => resolve({ ...sample, config: defaultsOf(preset.config!) })),
          },
        ]
      : []),
  ]
}

const hasDefaults = (schema: JsonSchema): boolean => compileCheck(schema).fits(defaultsOf(schema))

const defaultsOf = (schema: JsonSchema): Record<string, unknown> => fillDefaults(schema, {}) as Record<string, unknown>

function authChecks<Config>(preset: AnyPreset, settings: PresetCase<Config>): Check[] {
  const { accepted, signed, scheme, hookToken = false } = settings
  const { auth: declared } = preset
  if (!declared)
    return [
      {
        name: 'has an authentication',
        advice: 'Name the scheme of the service in `auth`, or set `hookToken` in the case if it sends the hook token.',
        run: () => expect({ hookToken, isSigned: signed !== undefined }).toEqual({ hookToken: true, isSigned: false }),
      },
    ]
  const authOf = (signed: SignedSample): HookAuth => ({ ...declared, ...signed.auth })
  return [
    {
      name: 'accepts a signed request and refuses one that was changed',
      advice: 'Let `auth` describe how the service signs, and give a `signed` request as the service sends it.',
      async run() {
        const schemes = await schemesWith(scheme)
        if (!signed) {
          const { secret } = schemes.get(declared.scheme) ?? {}
          return expect(secret, 'The preset has `auth`; give a `signed` request of the service.').toBe(false)
        }
        const auth = authOf(signed)
        expect(compileCheck(hookAuthSchema(schemes)).problems(auth)).toEqual([])
        expect([...hookAuthRules(auth, { schemes })].filter(({ warning }) => !warning)).toEqual([])
        const verifier = createVerifier(auth, { schemes, log })
        expect(await verify(verifier, signed)).toMatchObject({ ok: true })
        expect(await verify(verifier, tamperWith(verifier, signed))).toMatchObject({ ok: false })
      },
    },
    ...(signed
      ? [
          {
            name: 'verifies what `trigger` signs, and rejects another secret, another body and an old time',
            advice: 'Let the scheme sign the body and the time, and compare them with the secret.',
            async run() {
              const schemes = await schemesWith(scheme)
              for (const sample of accepted)
                await checkSigning(sample, {
                  auth: authOf(signed),
                  schemes,
                  toleranceSeconds: settings.toleranceSeconds,
                })
            },
          },
        ]
      : []),
  ]
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
function openMapping(preset: Preset<never, never>, presetConfig: Record<string, unknown>) {
  const open = (config: Record<string, unknown>) =>
    createMapping(
      { id: preset.name, path: preset.name, config: preset.mapping, preset, presetConfig: config },
      {
        keepBody: true,
        readAction: createActionReader(createAgentBody(new Map())),
        secretUse: { open: () => ({ note: () => undefined, list: async () => [] }) },
        schemes: new Map(),
        log,
      },
    )
  const usual = open(presetConfig)
  return async ({ payload, headers = {}, config }: PresetSample) => {
    const mapping = config ? open(config) : usual
    return mapping.resolveActions({ payload, headers, query: {}, path: preset.name, now: '2030-01-31T09:00:00.000Z' })
  }
}

type SamplePreset = Pick<Preset<never, never>, 'samples'>

/** The second call must give new webhooks: a repeated id would start nothing. */
async function checkSamples(preset: SamplePreset, resolve: Resolve): Promise<void> {
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
    const { actions, providerId } = await resolve({ what: name, ...sample })
    const texts = actions.map(textOfAction)
    expect({ name, texts }).toEqual({ name, texts: texts.map(() => expect.stringMatching(/\S/)) })
    expect({ name, count: texts.length }).not.toEqual({ name, count: 0 })
    const next = second[index] && (await resolve({ what: name, ...second[index] }))
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
  const running = new AsyncDisposableStack()
  try {
    const first = await start()
    running.defer(first.end)
    await emit()
    const refused = await offer(1)
    isStored = true
    await Promise.race([first.lost, offer(2)])
    await first.end()
    const second = await start()
    running.defer(second.end)
    expect(await offer(2)).toEqual(refused)
    await emit()
    expect((await offer(3))?.id).not.toBe(refused?.id)
  } finally {
    await running.disposeAsync()
  }
}
