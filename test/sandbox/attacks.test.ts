// Attacks on the sandbox: each is contained, the gateway is not affected, and other transforms keep running.
import { spawn } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { nodeFlags } from '../../core/sandbox/pool/spawn-process.ts'
import { readRunner } from '../../core/sandbox/runner-code.ts'
import { share } from '../share.ts'
import { attacks, endless } from './attacks.ts'
import { faultOf, run, shareSandbox, startSandbox } from './start-sandbox.ts'

const names = Object.keys(attacks)
const fileOf = (name: string): string => `attack-${names.indexOf(name)}.js`
const files = Object.fromEntries(
  Object.entries(attacks).map(([name, body]) => [fileOf(name), `export default (input) => { ${body} }`]),
)
const good = `export default ({ payload }) => ({
  message: 'hello ' + payload.list.map(String).join() + JSON.stringify({}.polluted ?? null),
})`

/** Modules that attack while they load, and the fault of their runs. */
const looping = [
  ['loops', 'for (;;);', 'timeout'],
  ['throws something that loops', 'throw { get message() { for (;;); }, toJSON() { for (;;); } }', 'timeout'],
  ['exports a getter as a function', 'export const payload = { get type() { for (;;); } }', 'timeout'],
] as const
const finite = [
  ['exhausts the memory', 'const a = []; for (;;) a.push(new Array(1e5).fill(1))', 'memory'],
  ['throws', 'throw new Error("x")', 'compile'],
  ['exports a schema that cannot be serialized', 'export const payload = { toJSON() { return 5 } }', 'compile'],
  [
    'exports a huge schema',
    `export const payload = { enum: Array.from({ length: 1e4 }, (_, i) => 'value ' + i) }`,
    'compile',
  ],
  [
    'exports a deep schema',
    `let s = {}; for (let i = 0; i < 50; i++) s = { not: s }; export const payload = s`,
    'compile',
  ],
  [
    'exports a schema with an external reference',
    `export const payload = { $ref: 'https://example.com/schema' }`,
    'compile',
  ],
] as const

/** Each with a module that must still run. */
const filesOf = (attackers: readonly (readonly [what: string, code: string, fault: string])[]) =>
  Object.fromEntries(
    attackers.flatMap(([what, code]) => [
      [`${what}/bad.js`, `${code};\nexport default () => ({ message: 'ran' })`],
      [`${what}/good.js`, good],
    ]),
  )

const shared = share(async () => {
  const started = startSandbox(
    {
      ...files,
      ...filesOf(finite),
      'good.js': good,
      'loop.js': 'export default () => { for (;;); }',
      'spin.js': 'export default () => { for (;;); }',
      'bomb.js': `export default () => { let s = []; for (;;) s.push(new Array(1e5).fill(1)) }`,
    },
    { loadMs: 10_000 },
  )
  const load = (file: string, timeoutMs: number) => started.sandbox.load(file, { timeoutMs })
  const attackers = new Map(names.map((name) => [name, load(fileOf(name), name in endless ? 50 : 300)]))
  // Far more than it takes, also while many other tests run.
  const friend = load('good.js', 20_000)
  const inProgress = [load('loop.js', 250), load('bomb.js', 10_000), load('spin.js', 250)]
  const loaded = Object.keys(filesOf(finite)).map((file) => started.sandbox.load(file))
  await Promise.all([...attackers.values(), friend, ...inProgress, ...loaded].map(({ ready }) => ready))
  return { ...started, attackers, friend, inProgress }
})

describe('an attack', () => {
  it('is one of at least 60', () => expect(names.length).toBeGreaterThanOrEqual(60))

  it.each(names)('is contained: %s', async (name) => {
    const { attackers, friend } = shared()
    const handle = attackers.get(name)!
    expect(handle.state().state).toBe('ready')
    const attack = run(handle, { list: [1, 2] }).then(
      ({ result }) => JSON.stringify(result),
      (error: unknown) => String(error),
    )
    const others = Promise.all(Array.from({ length: 8 }, () => run(friend, { list: [1, 2] })))
    const [attacked, served] = await Promise.all([attack, others])
    expect(attacked).not.toContain('ESCAPED')
    for (const { result } of [...served, await run(friend, { list: [1, 2] })])
      expect(result).toEqual({ message: 'hello 1,2null' })
    expect(Object.keys(Object.prototype)).toEqual([])
    handle.close()
  })
})

describe('attacks in progress', () => {
  it('make no run of another transform fail', async () => {
    const { friend, inProgress: foes } = shared()
    let over = false
    const served: number[] = await Promise.all([
      ...Array.from({ length: 8 }, async () => {
        let count = 0
        for (; !over; count++)
          expect((await run(friend, { list: [count] })).result).toEqual({ message: `hello ${count}null` })
        return count
      }),
      (async () => {
        const faults = []
        for (const foe of [...foes, ...foes]) faults.push((await faultOf(run(foe))).fault)
        over = true
        expect(faults).toEqual(['timeout', 'memory', 'timeout', 'timeout', 'memory', 'timeout'])
        return 1
      })(),
    ])
    expect(Math.min(...served)).toBeGreaterThan(0)
  })
})

describe('code that escapes from a compartment', () => {
  it('finds only the language, and cannot load modules', async () => {
    const globals = ['process', 'require', 'module', 'fetch', 'Buffer', 'Worker', 'WebSocket', 'WebAssembly']
    globals.push('SharedArrayBuffer', 'setTimeout', 'performance', 'navigator')
    const modules = ['node:fs', 'node:net', 'node:child_process', 'node:process', 'fs']
    modules.push('data:text/javascript,export default 1', 'file:///etc/passwd')
    const tail = `
      const found = { globals: {}, loads: {} };
      for (const name of ${JSON.stringify(globals)}) found.globals[name] = (0, eval)('typeof ' + name);
      for (const name of ${JSON.stringify(modules)}) {
        try { await import(name); found.loads[name] = 'loaded' } catch (error) { found.loads[name] = error.message }
      }
      gateway.write('<<' + JSON.stringify(found) + '>>');`
    const child = spawn(process.execPath, nodeFlags({ heapMb: 128 }), {
      env: {},
      stdio: ['pipe', 'ignore', 'ignore', 'pipe', 'ignore'],
    })
    child.stdin!.end((await readRunner()) + tail)
    let text = ''
    for await (const chunk of child.stdio[3] as unknown as AsyncIterable<Buffer>)
      if ((text += chunk.toString('latin1')).includes('>>')) break
    child.kill('SIGKILL')
    const found = JSON.parse(/<<(.*)>>/s.exec(text)![1]!) as {
      globals: Record<string, string>
      loads: Record<string, string>
    }
    expect(new Set(Object.values(found.globals))).toEqual(new Set(['undefined']))
    expect(new Set(Object.values(found.loads))).toEqual(new Set(['Modules cannot be loaded in the sandbox.']))
  })

  it('has no permissions of Node', async () => {
    const child = spawn(process.execPath, nodeFlags({ heapMb: 128 }), { env: {}, stdio: ['pipe', 'pipe', 'ignore'] })
    child.stdin.end(`
      import { readFileSync, writeFileSync, readdirSync } from 'node:fs';
      import { spawnSync } from 'node:child_process';
      import { Worker } from 'node:worker_threads';
      const tries = {
        read: () => readFileSync('/etc/hostname'),
        list: () => readdirSync('/'),
        write: () => writeFileSync('/tmp/x', ''),
        spawn: () => spawnSync('true').error.code,
        worker: () => new Worker('1', { eval: true }),
      };
      const found = { env: Object.keys(process.env) };
      for (const [name, attempt] of Object.entries(tries))
        try { found[name] = String(attempt()) } catch (error) { found[name] = error.code }
      console.log(JSON.stringify(found))`)
    const denied = 'ERR_ACCESS_DENIED'
    let text = ''
    for await (const chunk of child.stdout) text += String(chunk)
    expect(JSON.parse(text)).toEqual({
      env: [],
      read: denied,
      list: denied,
      write: denied,
      spawn: denied,
      worker: denied,
    })
  })
})

describe('a module that attacks while it loads', () => {
  const strict = shareSandbox(filesOf(looping), { loadMs: 500 })

  it.each([...looping, ...finite])('fails only its own runs: it %s', async (what, _code, fault) => {
    const { sandbox } = fault === 'timeout' ? strict() : shared()
    const [bad, friend] = [sandbox.load(`${what}/bad.js`), sandbox.load(`${what}/good.js`)]
    expect((await faultOf(run(bad))).fault).toBe(fault)
    expect(bad.payloadSchema).toBeUndefined()
    expect((await run(friend, { list: [1] })).result).toEqual({ message: 'hello 1null' })
  })
})
