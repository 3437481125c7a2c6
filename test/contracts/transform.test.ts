// The transform contract accepts a correct transform and finds each of many faults.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { createSandbox } from '../../core/sandbox/sandbox.ts'
import { temporaryFolder } from '../helpers.ts'
import { startSandbox } from '../sandbox/start-sandbox.ts'
import { share } from '../share.ts'
import { createTransformChecks, type TransformCase } from './transform-checks.ts'

const sample: TransformCase = {
  accepted: [
    {
      what: 'a full disk',
      payload: { disk: '/var', used: 93 },
      result: { message: '/var is 93% full.', sessionKey: 'hook:disks' },
    },
  ],
  skipped: [{ what: 'a disk with space', payload: { disk: '/var', used: 12 } }],
  refused: [{ what: 'a payload without a disk', payload: { used: 93 } }],
}

const lines = {
  schema: `export const payload = Type.Object({ disk: Type.String(), used: Type.Number() })`,
  skip: `if (payload.used < 90) return null`,
  result: '{ message: `${payload.disk} is ${payload.used}% full.`, sessionKey: "hook:disks" }',
}

const write = (change: Partial<typeof lines> = {}, file = join(temporaryFolder(), 'disks.ts')): string => {
  const { schema, skip, result } = { ...lines, ...change }
  const text = `import { Type } from 'svc-gateway/transform'
    let calls = 0
    ${schema}
    export default ({ payload, headers, now }) => {
      calls++
      ${skip}
      return ${result}
    }`
  writeFileSync(file, text)
  return file
}

/** @returns the names of the checks that fail, with the first line of their errors */
async function failuresOf(
  file: string,
  transform = sample,
  openSandbox?: typeof createSandbox,
): Promise<Record<string, string>> {
  const { checks, open, close } = createTransformChecks(file, transform, openSandbox)
  onTestFinished(close)
  await open()
  const failures: Record<string, string> = {}
  for (const { name, run } of checks)
    await run().catch((error: Error) => void (failures[name] = error.message.replaceAll('\n', ' | ')))
  return failures
}

const returns = 'returns the result that the hook accepts for a full disk'
const repeats = 'returns the same for the same request: a full disk'
const chooses = 'takes no recipient, agent or model from the payload: a full disk'
const prints = 'prints no text of the payload: a full disk'
const skips = 'skips a disk with space'
const refuses = 'refuses a payload without a disk with 400'

const faulty: [what: string, change: Partial<typeof lines>, expected: Record<string, RegExp>][] = [
  ['returns something else', { result: '{ message: "full" }' }, { [returns]: /./ }],
  ['skips nothing', { skip: '' }, { [skips]: /./ }],
  ['accepts any payload', { schema: '' }, { [refuses]: /The hook must refuse this request/ }],
  [
    'depends on earlier calls',
    { result: '{ message: `call ${calls}` }' },
    { [returns]: /./, [repeats]: /second call/ },
  ],
  [
    'throws',
    { skip: 'throw new Error(`no room on ${payload.disk}`)' },
    { [returns]: /no room on \/var/, [repeats]: /./, [skips]: /no room/ },
  ],
  [
    'needs the network',
    { skip: 'fetch("http://127.0.0.1:1")' },
    { [returns]: /fetch is not a function/, [repeats]: /./, [skips]: /./ },
  ],
  ['returns an unknown field', { result: '{ massage: "full" }' }, { [returns]: /massage/, [repeats]: /./ }],
  [
    'chooses a session that the hook does not accept',
    { result: '{ message: "full", sessionKey: "main" }' },
    { [returns]: /the hook would refuse the request: sessionKey/, [repeats]: /./ },
  ],
  [
    'does not compile',
    { skip: 'if (' },
    { [returns]: /does not compile at line \d+/, [repeats]: /./, [skips]: /./, [refuses]: /./ },
  ],
]

/** Their modules are loaded together, which takes fewer processes. */
const shared = share(async () => {
  const started = startSandbox()
  const load = (what: string, change: Partial<typeof lines>) => {
    write(change, join(started.dir, `${what}.ts`))
    return started.sandbox.load(`${what}.ts`).ready
  }
  await Promise.all([load('is correct', {}), ...faulty.map(([what, change]) => load(what, change))])
  return started
})

function failuresInShared(what: string): Promise<Record<string, string>> {
  const { sandbox, dir } = shared()
  return failuresOf(join(dir, `${what}.ts`), sample, () => ({ ...sandbox, close: async () => undefined }))
}

describe('the transform contract', () => {
  it('accepts a correct transform', async () => {
    expect(await failuresInShared('is correct')).toEqual({})
  })

  it('tests the transform as the mapping of the configuration uses it', async () => {
    const mapping = { match: { path: 'disks' }, sessionKey: 'hook:disks', transform: { module: 'disks.ts' } }
    const failures = await failuresOf(write({ result: '{ name: "Disks" }' }), {
      config: { hooks: { mappings: [mapping] } },
      accepted: [{ what: 'a full disk', payload: { disk: '/var', used: 93 }, result: { name: 'Disks' } }],
    })
    expect(failures).toEqual({
      [returns]: expect.stringContaining('message is required'),
      [repeats]: expect.anything(),
    })
  })

  it.each([
    ['takes the recipient from the payload', 'channel: "slack", to: payload.disk', chooses],
    ['takes the agent from the payload', 'agentId: payload.disk', chooses],
    ['takes the model from the payload', 'model: payload.disk', chooses],
    ['prints a text of the payload', 'name: (console.log(payload.disk), "Disk")', prints],
  ])('finds a transform that %s', async (what, fields, check) => {
    const { sandbox, dir } = shared()
    const file = write({ result: `[{ message: "full", ${fields} }]` }, join(dir, `${what}.ts`))
    const disk = 'the disk of db1'
    const result = [{ message: 'full', to: disk, agentId: disk, model: disk }]
    const accepted = [{ what: 'a full disk', payload: { disk, used: 93 }, result }]
    const found = await failuresOf(file, { accepted }, () => ({ ...sandbox, close: async () => undefined }))
    expect(found[check]).toMatch(/^(?:Choose the recipient, the agent and the model in|Print no texts)/)
  })

  it.each(faulty)('finds a transform that %s', async (what, _change, expected) => {
    const found = Object.entries(expected).map(([name, sentence]) => [name, expect.stringMatching(sentence)])
    expect(await failuresInShared(what)).toEqual(Object.fromEntries(found))
  })
})
