// The preset contract accepts a correct preset and finds each of many faults.
import { createHmac, hash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { describe, it } from 'vitest'
import { clip, createMatcher, Maybe } from '../../core/kit/kit.ts'
import {
  definePreset,
  defineScheme,
  type PresetContext,
  type PresetJob,
  type PresetRequest,
  Type,
} from '../../core/plugin/plugin.ts'
import { expectFailure } from './expect-failure.ts'
import { expectTable } from './mutant-table.ts'
import { type PresetCase, presetChecks, presetContract } from './preset.ts'

type Fault =
  | 'accepts every signature'
  | 'changes the payload'
  | 'fails without an optional part'
  | 'has one content for two states'
  | 'has one id for an order and its end'
  | 'logs a text in its job'
  | 'logs the token in its job'
  | 'fills the whole text into the message'
  | 'forgets a detail'
  | 'has a sample that a default setting skips'
  | 'has a sample without a new id'
  | 'has an empty message'
  | 'has the session of another agent'
  | 'has an unknown field in its mapping'
  | 'has another id for each attempt'
  | 'has another result each time'
  | 'has one session for all'
  | 'has the session of another preset'
  | 'has the main session'
  | 'has no authentication'
  | 'has no schema of its payload'
  | 'has the secret in its code'
  | 'ignores a setting'
  | 'names a channel'
  | 'names an agent'
  | 'returns a field that the gateway refuses'
  | 'starts something for every event'

type ProofFault =
  | 'accepts a request without a signature'
  | 'accepts a token that says it needs no signature'
  | 'accepts every request of a user agent'
  | 'answers an event as a handshake'
  | 'compares two characters of the signature'
  | 'does not name the header of its proof'
  | 'ignores the case of the signature'
  | 'reads a token without verifying it'
  | 'writes the right signature into its reason'
  | 'writes the secret into its reason'

interface Order {
  id: string
  type: string
  order: { number: string; total: number; note: string; gift?: { text: string } }
}

const Payload = Type.Object({
  id: Type.String(),
  type: Type.String(),
  order: Type.Object({
    number: Type.String({ maxLength: 50 }),
    total: Type.Number(),
    note: Type.String(),
    gift: Maybe(Type.Object({ text: Maybe(Type.String()) })),
  }),
})

interface Config {
  minimumTotal: number
  token?: string
}

const shop = (fault?: Fault) =>
  definePreset<Order, Config>({
    name: 'shop',
    description: 'Orders of a shop.',
    payload: fault === 'has no schema of its payload' ? Type.Object({}) : Payload,
    mapping: {
      name: 'Shop',
      ...(fault === 'has an unknown field in its mapping' && { prompt: 'x' }),
      ...(fault === 'has the main session' && { sessionKey: 'agent:main:main' }),
    },
    ...(fault !== 'has no authentication' && { auth: authOf(fault) }),
    config: Type.Object({
      minimumTotal: Type.Number({
        default: fault === 'has a sample that a default setting skips' ? 100 : 1,
        description: 'Smaller orders start nothing.',
      }),
      token: Type.Optional(Type.String({ secret: true, description: 'Token of the feed.' })),
    }),
    needsJob: ({ token }) => token !== undefined,
    start: (config, context) => startFeed(config, { context, fault }),
    deliveryId({ payload: { id, order } }) {
      if (fault === 'has another id for each attempt') return randomUUID()
      if (fault === 'has one content for two states') return { subject: order.number, content: order.note }
      return fault === 'has one id for an order and its end' ? order.number : id
    },
    toAction: (request) => toAction(request, fault),
    samples: ({ id }) => [
      {
        name: 'order',
        payload: { ...order('A1'), id: fault === 'has a sample without a new id' ? 'w1' : id },
      },
    ],
  })

const authOf = (fault: Fault | undefined) => ({
  scheme: fault === 'accepts every signature' ? 'gullible' : 'hmac',
  ...(fault !== 'accepts every signature' && { header: 'x-signature' }),
  ...(fault === 'has the secret in its code' && { secret: 'the secret' }),
})

const gullible = defineScheme({
  name: 'gullible',
  description: 'Believes everybody.',
  createVerifier: () => () => ({ ok: true }),
})

/** The orders of a shop that cannot send webhooks. */
const feed = { orders: [] as Order[], arrived: new EventTarget() }

function emit(): void {
  feed.orders.push(order(`F${feed.orders.length}`))
  feed.arrived.dispatchEvent(new Event('order'))
}

interface FeedOptions {
  context: PresetContext
  fault: Fault | undefined
}

async function startFeed({ token }: Config, { context, fault }: FeedOptions): Promise<PresetJob> {
  const { accept, log, lost, signal, state } = context
  if (fault === 'logs the token in its job') log.info({ authorization: `Bearer ${token}` }, 'reading the feed')
  async function read(): Promise<void> {
    let position = Number((await state.get('position')) ?? 0)
    while (!signal.aborted) {
      for (const one of feed.orders.slice(position)) {
        if (fault === 'logs a text in its job') log.debug({ note: one.order.note }, 'order')
        await accept(structuredClone(one) as never, { id: one.id })
        await state.set('position', (position += 1))
      }
      await once(feed.arrived, 'order', { signal })
    }
  }
  void read().catch((error: unknown) => signal.aborted || lost(error))
  return { close: async () => undefined }
}

const agent = 'Shop-Hooks/1.0'
const digestOf = (secret: string, content: string | Buffer): string =>
  createHmac('sha256', secret).update(content).digest('base64url')

/** A proof that is a signature of the body, or a token with the digest of the body. */
function till(fault?: ProofFault) {
  const verifyToken = ([header = '', claims = '', proof = '']: readonly string[], secret: string): boolean => {
    const { alg } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg: string }
    if (fault === 'accepts a token that says it needs no signature' && alg === 'none') return true
    const isKnown = fault === 'reads a token without verifying it'
    return isKnown || createMatcher(digestOf(secret, `${header}.${claims}`))(proof)
  }
  const isRight = (given: string, right: string): boolean => {
    if (fault === 'compares two characters of the signature') return given.startsWith(right.slice(0, 2))
    if (fault === 'ignores the case of the signature') return given.toLowerCase() === right.toLowerCase()
    return createMatcher(right)(given)
  }
  const describeRefusal = (secret: string, right: string): string => {
    if (fault === 'writes the secret into its reason') return `the secret is ${secret}`
    return fault === 'writes the right signature into its reason' ? `it must be ${right}` : 'the signature is wrong'
  }
  return defineScheme({
    name: 'till',
    description: 'Signatures of the till.',
    covers: ['body'],
    ...(fault !== 'does not name the header of its proof' && { hiddenHeaders: ['x-proof'] }),
    ...(fault === 'answers an event as a handshake' && { answerHandshake: ({ id }) => ({ id }) }),
    createVerifier:
      () =>
      ({ header, rawBody, secrets }) => {
        const given = header('x-proof')
        if (fault === 'accepts every request of a user agent' && header('user-agent') === agent) return { ok: true }
        if (given === undefined && fault === 'accepts a request without a signature') return { ok: true }
        const parts = given?.split('.') ?? []
        const secretIndex = secrets.findIndex((secret) =>
          parts.length === 3
            ? isTokenOf(parts, rawBody) && verifyToken(parts, secret)
            : isRight(given ?? '', digestOf(secret, rawBody)),
        )
        const [first = ''] = secrets
        return secretIndex < 0
          ? { ok: false, reason: describeRefusal(first, digestOf(first, rawBody)) }
          : { ok: true, secretIndex }
      },
    sign: ({ body }, { secret }) => ({ headers: { 'x-proof': digestOf(secret, body) } }),
  })
}

const isTokenOf = ([, claims = '']: readonly string[], body: Buffer): boolean =>
  Buffer.from(claims, 'base64url').toString() === JSON.stringify({ sha256: hash('sha256', body) })

const tokenFor = (body: string): string => {
  const [header, claims] = [{ alg: 'HS256' }, { sha256: hash('sha256', body) }].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  return `${header}.${claims}.${digestOf('the secret', `${header}.${claims}`)}`
}

function toAction({ payload, config }: PresetRequest<Order, Config>, fault: Fault | undefined) {
  const { number, total, note } = payload.order
  const isClosed = payload.type === 'order.closed'
  if (payload.type === 'order.viewed' && fault !== 'starts something for every event') return null
  if (total < config.minimumTotal && fault !== 'ignores a setting') return null
  const gift = fault === 'fails without an optional part' && payload.order.gift ? payload.order.gift.text.length : 0
  if (fault === 'changes the payload') Object.assign(payload.order, { note: '' })
  const texts: Partial<Record<Fault, string>> = {
    'fills the whole text into the message': `Order ${number}: ${note}`,
    'forgets a detail': `Order ${number}`,
    'has an empty message': ' ',
    'has another result each time': `Order ${number}: ${clip(note, 200)} ${Math.random()}`,
  }
  const keys: Partial<Record<Fault, string>> = {
    'has the session of another agent': `agent:ops:${number}`,
    'has one session for all': 'hook:shop:orders',
    'has the session of another preset': `hook:github:${number}`,
  }
  return {
    ...(gift > 100 && { name: 'Gift' }),
    message: (fault && texts[fault]) ?? `Order ${number}${isClosed ? ' is closed' : ''}: ${clip(note, 200)}`,
    ...(fault !== 'has the main session' && { sessionKey: (fault && keys[fault]) ?? `hook:shop:${number}` }),
    ...(fault === 'names a channel' && { channel: 'last' }),
    ...(fault === 'names an agent' && { agentId: 'ops' }),
    ...(fault === 'returns a field that the gateway refuses' && { timeoutSeconds: -1 }),
  }
}

const order = (number: string, total = 20, type = 'order.created'): Order => ({
  id: `w-${number}-${type}`,
  type,
  order: { number, total, note: 'Ring the bell.' },
})
const gift: Order = { ...order('A4'), order: { ...order('A4').order, gift: { text: 'Happy birthday!' } } }
const body = JSON.stringify(order('A1'))
const signature = createHmac('sha256', 'the secret').update(body).digest('hex')

const suite: PresetCase<Config> = {
  config: { minimumTotal: 10 },
  accepted: [
    {
      what: 'an order',
      payload: order('A1'),
      result: { message: 'Order A1: Ring the bell.', sessionKey: 'hook:shop:A1' },
    },
    { what: 'another order', payload: order('A2') },
    { what: 'the end of an order', payload: order('A1', 20, 'order.closed') },
    { what: 'a gift', payload: gift },
    { what: 'a small order', payload: order('A3', 5), config: { minimumTotal: 1 } },
  ],
  skipped: [
    { what: 'a view', payload: order('A1', 20, 'order.viewed') },
    { what: 'a cheap order', payload: order('A1', 5) },
  ],
  refused: [{ what: 'no order', payload: { id: 'w1', type: 'order.created' } }],
  signed: { auth: { secret: 'the secret' }, headers: { 'x-signature': signature }, body },
}

presetContract(shop(), suite)

const tillSuite = (fault?: ProofFault | 'accepts a token'): PresetCase<Config> => {
  const isToken = fault?.includes('token') ?? false
  const headers = { 'user-agent': agent, 'x-proof': isToken ? tokenFor(body) : digestOf('the secret', body) }
  const secrets = { auth: { secret: 'the secret' }, headers, body }
  return { ...suite, scheme: till(fault === 'accepts a token' ? undefined : fault), signed: secrets }
}

type Mutant = [Fault, string, RegExp?]

const mutants: readonly Mutant[] = [
  ['fails without an optional part', 'does not fail when a part is missing: a gift', /order\.gift\.text/],
  ['has one content for two states', 'has an id of its own for each webhook', /the end of an order/],
  ['has one id for an order and its end', 'has an id of its own for each webhook', /the end of an order/],
  ['changes the payload', 'returns the same for the same request: an order'],
  ['fills the whole text into the message', 'limits what the sender can put into a message: an order', /order\.note/],
  ['forgets a detail', 'makes actions that the gateway accepts of an order', /Ring the bell/],
  ['has a sample that a default setting skips', 'has samples that start something with the default settings'],
  ['has a sample without a new id', 'has samples that become actions that the gateway accepts'],
  ['has an empty message', 'makes actions that the gateway accepts of an order'],
  ['has the session of another agent', 'keeps to its own sessions: an order', /agent:ops:A1/],
  ['has an unknown field in its mapping', 'is declared without fault, with a mapping that fits', /prompt/],
  ['has another id for each attempt', 'returns the same for the same request: an order'],
  ['has another result each time', 'returns the same for the same request: another order'],
  ['has one session for all', 'has a session for each subject', /hook:shop:orders/],
  ['has the session of another preset', 'keeps to its own sessions: an order', /hook:github:A1/],
  ['has the main session', 'keeps to its own sessions: an order', /agent:main:main/],
  ['has no authentication', 'has an authentication'],
  ['has no schema of its payload', 'refuses no order with 400'],
  ['has the secret in its code', 'is declared without fault, with a mapping that fits', /auth\.secret/],
  ['ignores a setting', 'skips a cheap order'],
  ['names a channel', 'keeps to its own sessions: an order', /channel/],
  ['returns a field that the gateway refuses', 'makes actions that the gateway accepts of an order', /timeoutSeconds/],
  ['names an agent', 'keeps to its own sessions: an order', /agentId/],
  ['starts something for every event', 'skips a view'],
]

const logCheck = 'keeps secrets and texts out of the log of its job'

const jobMutants: readonly Mutant[] = [
  ['logs a text in its job', logCheck, /order\.note/],
  ['logs the token in its job', logCheck, /a secret/],
]

const job = { config: () => ({ minimumTotal: 1, token: 'the-token-of-the-feed' }), emit }
const jobSuite: PresetCase<Config> = { ...suite, job }

describe('with a job', () => {
  presetContract(shop(), jobSuite)
})

const unproven = 'refuses a request without its proof'
const otherProof = 'refuses a signature that is wrong in one place'
const ownSecrets = 'keeps the secret and the signature to itself'
const signs = 'verifies what `trigger` signs, and rejects another secret, another body and an old time'

const proofMutants: readonly [ProofFault, string, RegExp?][] = [
  ['accepts a request without a signature', unproven],
  ['accepts a token that says it needs no signature', otherProof],
  ['accepts every request of a user agent', unproven],
  ['answers an event as a handshake', signs, /handshake/],
  ['compares two characters of the signature', otherProof],
  ['does not name the header of its proof', unproven],
  ['ignores the case of the signature', otherProof],
  ['reads a token without verifying it', otherProof],
  ['writes the right signature into its reason', ownSecrets],
  ['writes the secret into its reason', ownSecrets],
]

const gullibleMutant = ['accepts every signature', 'accepts a signed request and refuses one that was changed'] as const

/** The shop, whose requests the till signs. */
const shopWithTill = () => ({ ...shop(), auth: { scheme: 'till' } })

describe('with a signature', () => {
  presetContract(shopWithTill(), tillSuite())
})

describe('with a token', () => {
  presetContract(shopWithTill(), tillSuite('accepts a token'))
})

describe('the preset contract', () => {
  it.each<Mutant>(mutants)('finds a preset that %s', async (fault, name, detail) => {
    await expectFailure(presetChecks(shop(fault), suite), name, detail)
  })

  it.each<Mutant>(jobMutants)('finds a preset that %s', async (fault, name, detail) => {
    await expectFailure(presetChecks(shop(fault), jobSuite), name, detail)
  })

  it.each<(typeof proofMutants)[number]>(proofMutants)('finds a preset that %s', async (fault, name, detail) => {
    await expectFailure(presetChecks(shopWithTill(), tillSuite(fault)), name, detail)
  })

  it('asks for a header that the scheme reads and the case does not have', async () => {
    const { headers, ...signed } = tillSuite().signed!
    const { 'user-agent': _agent, ...proof } = headers
    const checks = presetChecks(shopWithTill(), {
      ...tillSuite('accepts every request of a user agent'),
      signed: { ...signed, headers: proof },
    })
    await expectFailure(checks, unproven, /give them in `signed`/)
  })

  it('finds a preset that accepts every signature', async () => {
    const [fault, check] = gullibleMutant
    await expectFailure(presetChecks(shop(fault), { ...suite, scheme: gullible }), check)
  })

  it('has the mutants of the table', () => {
    const named = [...mutants, ...jobMutants, ...proofMutants].map(([fault, check]) => [fault, check] as const)
    const checks = [...presetChecks(shop(), jobSuite), ...presetChecks(shop('has no authentication'), suite)]
    expectTable('Presets', [...named, gullibleMutant], checks)
  })

  it('finds a case that says nothing about authentication', async () => {
    const { signed: _, ...unsigned } = suite
    await expectFailure(presetChecks(shop('has no authentication'), unsigned), 'has an authentication')
  })
})
