// What every preset must do: sample requests become actions that the gateway accepts, and signatures are checked.
import { once } from 'node:events'
import { inspect } from 'node:util'
import { expect } from 'vitest'
import { fillDefaults } from '../../core/config/defaults.ts'
import { GatewayError } from '../../core/errors.ts'
import { createAgentBody } from '../../core/hooks/schemas.ts'
import { createActionReader } from '../../core/hooks/mapped-action.ts'
import { createMapping } from '../../core/hooks/mapping.ts'
import { findFaults } from '../../core/loader/verify.ts'
import { presetFaults } from '../../core/loader/verify-preset.ts'
import type { Json, JsonSchema, Preset, PresetContext } from '../../core/plugin/plugin.ts'
import { compileCheck } from '../../core/typebox.ts'
import { checkSessionKey } from '../../core/sessions/keys.ts'
import { secretsOf } from './channel-gateway.ts'
import { type Check, describeChecks } from './check.ts'
import { createTestContext, type TestContext } from './context.ts'
import { panelChecks } from './panel-checks.ts'
import { authChecks, schemesWith } from './preset-auth.ts'
import type { JobCase, PresetCase, PresetSample } from './preset-case.ts'

export type { ExpectedAction, JobCase, PresetCase, PresetSample, SignedSample } from './preset-case.ts'

export const presetContract = <Payload, Config>(preset: Preset<Payload, Config>, settings: PresetCase<Config>): void =>
  describeChecks(preset, { checks: presetChecks(preset, settings), also: settings.scheme && [settings.scheme] })

export function presetChecks<Payload, Config>(preset: Preset<Payload, Config>, settings: PresetCase<Config>): Check[] {
  const { config, accepted, skipped = [], refused = [], job, scheme } = settings
  const resolve = openMapping(preset, config ?? {})
  let record: Promise<JobRecord> | undefined
  // Two checks look at one run of the job.
  const recordJob = (given: JobCase<Config>): Promise<JobRecord> => (record ??= checkJob(preset, given))
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
    ...idChecks({ accepted, resolve }),
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
              await recordJob(job)
            },
          },
          {
            name: 'keeps secrets and texts out of the log of its job',
            advice: 'Log ids and counts: neither the settings nor what people have written.',
            run: async () => job && keepsLogClean(await recordJob(job), secretsOf(preset.config ?? {}, job.config())),
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

const { log } = createTestContext()

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
      name: `does not fail when a part is missing: ${sample.what}`,
      advice:
        'Expect that each optional part is missing, or require it in the schema `payload`: a crash is a lost webhook.',
      run: () => toleratesMissing({ sample, resolve }),
    },
    {
      name: `limits what the sender can put into a message: ${sample.what}`,
      advice: 'Shorten texts of the payload with `clip`, `quote` or `eventMessage`.',
      run: () => checkLength({ sample, resolve }),
    },
  ])
}

/** The gateway drops a second webhook of the same id: of an alert and its recovery, the recovery. */
function idChecks({ accepted, resolve }: Told): Check[] {
  return [
    {
      name: 'has an id of its own for each webhook',
      advice:
        'Let `deliveryId` return the id that the service gives each webhook, or a `RepeatKey` whose `content` has the ' +
        'state: of two webhooks with one id the gateway drops the second. Give each request of the case an id of its ' +
        'own, as the service does.',
      async run() {
        const texts = new Map<string, { what: string; text: string }>()
        const repeated: string[] = []
        for (const sample of accepted) {
          const { actions, providerId } = await resolve(sample)
          if (providerId === undefined) continue
          const [id, text] = [JSON.stringify(providerId), actions.map(textOfAction).join('\n')]
          const first = texts.get(id)
          if (first && first.text !== text) repeated.push(`${first.what}, and ${sample.what}: ${id.slice(0, 200)}`)
          else texts.set(id, { what: sample.what, text })
        }
        expect(repeated, 'webhooks with one id').toEqual([])
      },
    },
  ]
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

/** What the schema requires is refused with 400; nothing else may be. */
async function toleratesMissing({ sample, resolve }: { sample: PresetSample; resolve: Resolve }): Promise<void> {
  const failed: string[] = []
  for (const path of pathsIn(sample.payload)) {
    const payload: unknown = structuredClone(sample.payload)
    removeIn(payload, path)
    await resolve({ ...sample, payload }).catch((error: unknown) => {
      if (!(error instanceof GatewayError) || error.status >= 500) failed.push(`${path.join('.')}: ${String(error)}`)
    })
  }
  expect(failed, 'parts without which it fails').toEqual([])
}

/** Of a list, the first element: the others are alike. */
function pathsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return []
  const members = Array.isArray(value) ? Object.entries(value.slice(0, 1)) : Object.entries(value)
  return members.flatMap(([key, member]) => {
    const here = path.concat(key)
    return [here].concat(pathsIn(member, here) as string[][])
  })
}

function removeIn(root: unknown, path: readonly string[]): void {
  const owner = path.slice(0, -1).reduce((value, key) => (value as Record<string, unknown>)[key], root)
  if (Array.isArray(owner)) owner.splice(Number(path.at(-1)), 1)
  else Reflect.deleteProperty(owner as object, path.at(-1) ?? '')
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

function deepFreeze(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze)
  return value
}

/** What a job has offered and logged. */
interface JobRecord {
  offered: readonly { id: string; payload: Json }[]
  logged: TestContext['logged']
}

/** The first event cannot be stored, so the job tries again, or is lost and started again. */
async function checkJob<Config>(preset: Preset<never, Config>, { config, emit }: JobCase<Config>): Promise<JobRecord> {
  const { state, log, logged } = createTestContext()
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
    return { offered, logged }
  } finally {
    await running.disposeAsync()
  }
}

function keepsLogClean({ offered, logged }: JobRecord, secrets: readonly string[]): void {
  const texts = offered.flatMap(({ payload }) => textsIn(payload)).filter(({ text }) => /\S\s+\S/.test(text))
  const said = inspect(logged, { depth: 10, maxStringLength: null, maxArrayLength: null })
  const found = [
    ...secrets.flatMap((secret) => (said.includes(secret) ? ['a secret'] : [])),
    ...texts.flatMap(({ path, text }) => (said.includes(text) ? [path.join('.')] : [])),
  ]
  expect(found, 'what the log has').toEqual([])
}
