// The preset contract accepts a correct preset and finds each of many faults.
import { createHmac, randomUUID } from 'node:crypto'
import { describe, it } from 'vitest'
import { clip } from '../../core/kit/kit.ts'
import { definePreset, defineScheme, type PresetRequest, Type } from '../../core/plugin/plugin.ts'
import { expectFailure } from './expect-failure.ts'
import { expectTable } from './mutant-table.ts'
import { type PresetCase, presetChecks, presetContract } from './preset.ts'

type Fault =
  | 'accepts every signature'
  | 'changes the payload'
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

interface Order {
  id: string
  type: string
  order: { number: string; total: number; note: string }
}

const Payload = Type.Object({
  id: Type.String(),
  type: Type.String(),
  order: Type.Object({ number: Type.String({ maxLength: 50 }), total: Type.Number(), note: Type.String() }),
})

interface Config {
  minimumTotal: number
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
    }),
    deliveryId: ({ payload }) => (fault === 'has another id for each attempt' ? randomUUID() : payload.id),
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

function toAction({ payload, config }: PresetRequest<Order, Config>, fault: Fault | undefined) {
  const { number, total, note } = payload.order
  if (payload.type !== 'order.created' && fault !== 'starts something for every event') return null
  if (total < config.minimumTotal && fault !== 'ignores a setting') return null
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
    message: (fault && texts[fault]) ?? `Order ${number}: ${clip(note, 200)}`,
    ...(fault !== 'has the main session' && { sessionKey: (fault && keys[fault]) ?? `hook:shop:${number}` }),
    ...(fault === 'names a channel' && { channel: 'last' }),
    ...(fault === 'names an agent' && { agentId: 'ops' }),
    ...(fault === 'returns a field that the gateway refuses' && { timeoutSeconds: -1 }),
  }
}

const order = (number: string, total = 20, type = 'order.created'): Order => ({
  id: 'w1',
  type,
  order: { number, total, note: 'Ring the bell.' },
})
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

type Mutant = [Fault, string, RegExp?]

const mutants: readonly Mutant[] = [
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

const gullibleMutant = ['accepts every signature', 'accepts a signed request and refuses one that was changed'] as const

describe('the preset contract', () => {
  it.each<Mutant>(mutants)('finds a preset that %s', async (fault, name, detail) => {
    await expectFailure(presetChecks(shop(fault), suite), name, detail)
  })

  it('finds a preset that accepts every signature', async () => {
    const [fault, check] = gullibleMutant
    await expectFailure(presetChecks(shop(fault), { ...suite, scheme: gullible }), check)
  })

  it('has the mutants of the table', () => {
    const all = [...mutants.map(([fault, check]) => [fault, check] as const), gullibleMutant]
    const checks = [...presetChecks(shop(), suite), ...presetChecks(shop('has no authentication'), suite)]
    expectTable('Presets', all, checks)
  })

  it('finds a case that says nothing about authentication', async () => {
    const { signed: _, ...unsigned } = suite
    await expectFailure(presetChecks(shop('has no authentication'), unsigned), 'has an authentication')
  })
})
