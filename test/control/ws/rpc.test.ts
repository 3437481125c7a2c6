// Tests JSON-RPC with random messages: every request gets one response, under its own id.
import { expect, it } from 'vitest'
import { chooseSeed } from '../../config/random.ts'
import { createRpc, method } from '../../../core/control/ws/rpc.ts'
import { GatewayError } from '../../../core/errors.ts'
import { Type } from '../../../core/typebox.ts'

function createRandom(seed: number) {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const methods = new Map([
  ['double', method(Type.Object({ n: Type.Number() }), ({ n }: { n: number }) => n * 2)],
  ['refuse', method(Type.Unknown(), () => Promise.reject(new GatewayError('conflict')))],
  ['throw', method(Type.Unknown(), () => JSON.parse('secret'))],
  ['nothing', method(Type.Unknown(), () => {})],
])

it('answers every request exactly once', async () => {
  const random = createRandom(chooseSeed())
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)]!
  const rpc = createRpc({
    find: (name) => methods.get(name),
    caller: undefined,
    authorize: () => {},
    maxCalls: 8,
    onFailure: () => {},
  })
  const request = () => ({
    jsonrpc: pick(['2.0', '2.0', '2.0', '2.0', 2, undefined]),
    id: pick([1, 'a', null, undefined, 0.5, {}, true]),
    method: pick(['double', 'double', 'refuse', 'throw', 'nothing', 'toString', '', 5, undefined]),
    params: pick([{ n: 4 }, { n: 'x' }, {}, [], null, undefined, 'x', { n: 4, more: { __proto__: 1 } }]),
  })
  for (let round = 0; round < 5_000; round++) {
    const message = random(4) === 0 ? Array.from({ length: random(11) }, request) : request()
    const text = JSON.stringify(message)
    const cut = random(20) === 0 ? text.slice(0, random(text.length)) : text
    const answered = await rpc(Buffer.from(cut))
    for (const { jsonrpc, id, ...rest } of [answered ?? []].flat()) {
      expect([jsonrpc, Object.keys(rest).length]).toEqual(['2.0', 1])
      expect(id === null || typeof id === 'string' || typeof id === 'number').toBe(true)
      expect(JSON.stringify(rest)).not.toContain('secret')
    }
    if (cut !== text || Array.isArray(message)) continue
    const isNotification =
      message.jsonrpc === '2.0' &&
      message.id === undefined &&
      typeof message.method === 'string' &&
      isParams(message.params)
    expect(answered === undefined).toBe(isNotification)
  }
})

const isParams = (params: unknown): boolean => params === undefined || (typeof params === 'object' && params !== null)
