// What `svc-gateway/transform` exports: all of it works inside the sandbox, and returns there what it returns outside.
import { describe, expect, it } from 'vitest'
import * as helpers from '../../core/transform.ts'
import { faultOf, run, shareSandbox } from './start-sandbox.ts'

const { Type, ...functions } = helpers
type Helper = keyof typeof functions

/** The arguments of a call of each helper. */
const calls: Readonly<Record<Helper, readonly unknown[]>> = {
  clip: [' a\u202eb\r\nc'.repeat(9), 20],
  countOf: [7],
  entryOf: [{ open: 'opened' }, 'constructor'],
  eventMessage: [
    'Shop',
    { head: 'a\nb', place: 'c', details: ['d', false], link: 'https://e.example', text: 'f\ng' },
    2,
  ],
  exactId: [1e21],
  fieldsOf: [{ a: 1 }],
  line: ['a\n\tb', 3],
  lines: ['a', undefined, ' ', 'b'],
  listFields: [{ customer: { email: 'ada@example.com', tags: { deep: { er: 1 } } } }],
  listOf: ['no list'],
  Maybe: [Type.String()],
  quote: ['say "hi"', 100],
  textOf: [''],
  words: ['a', null, 'b'],
}

const shared = shareSandbox({
  'all.js': `import * as helpers from 'svc-gateway/transform'
    const { Type } = helpers
    export const payload = Type.Object({ calls: Type.Record(Type.String(), Type.Array(Type.Unknown())) })
    export default ({ payload }) => ({
      name: Object.keys(helpers).sort().join(),
      message: JSON.stringify(Object.entries(payload.calls).map(([name, args]) => [name, helpers[name](...args)])),
    })`,
  'contract.js': `import { defineChannel } from 'svc-gateway/plugin'\nexport default () => defineChannel`,
  'kit.js': `import { readHtml } from 'svc-gateway/kit'\nexport default () => readHtml`,
  'unknown.js': `import { readHtml } from 'svc-gateway/transform'\nexport default () => readHtml`,
  'types.ts': `import type { Channel } from 'svc-gateway/plugin'
    export default ({ payload }: { payload: Channel<never> }) => ({ message: payload.name })`,
})

describe('svc-gateway/transform', () => {
  it('exports in the sandbox what its types offer, and every helper returns what it returns outside', async () => {
    const { result } = await run(shared().sandbox.load('all.js'), { calls })
    const outside = Object.entries(calls).map(([name, args]) => [
      name,
      (functions[name as Helper] as (...args: unknown[]) => unknown)(...args),
    ])
    expect(result).toEqual({ name: Object.keys(helpers).toSorted().join(), message: JSON.stringify(outside) })
    expect(Object.keys(helpers).toSorted()).toEqual([...Object.keys(calls), 'Type'].toSorted())
  })

  it.each([
    ['contract.js', 'contract.js imports "svc-gateway/plugin"; import it from "svc-gateway/transform".'],
    ['kit.js', 'kit.js imports "svc-gateway/kit"; import it from "svc-gateway/transform".'],
    ['unknown.js', expect.stringMatching(/"readHtml" is not exported by "svc-gateway\/transform"\.$/)],
  ])('is named where %s imports something else', async (file, message) => {
    const { fault, message: found } = await faultOf(run(shared().sandbox.load(file)))
    expect([fault, found]).toEqual(['compile', message])
  })

  it('does not matter for types, which the compiler removes', async () => {
    expect((await run(shared().sandbox.load('types.ts'), { name: 'a' })).result).toEqual({ message: 'a' })
  })
})
