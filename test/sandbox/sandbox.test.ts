// The sandbox: the input and result of a transform, its limits, and the processes that run it.
import { spawn } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { TransformHandle } from '../../core/sandbox/sandbox.ts'
import type { TransformError } from '../../core/sandbox/transform-error.ts'
import { callWith, faultOf, run, shareSandbox, startSandbox } from './start-sandbox.ts'

const returning = (code: string): string => `export default (input) => { ${code} }`

/** The files of a sandbox whose tests end no process. The blocks add theirs. */
const files: Record<string, string> = {}

const shared = shareSandbox(files)

/** Adds transforms with these names and bodies. */
function addTransforms(transforms: readonly (readonly [name: string, body: string, ...rest: unknown[]])[]): void {
  for (const [name, body] of transforms) files[`${name}.js`] = returning(body)
}

const load = (name: string): TransformHandle => shared().sandbox.load(`${name}.js`)

describe('run', () => {
  Object.assign(files, {
    'show.js': returning(
      `const parts = [input, input.payload, input.payload.a, input.headers]
       return { message: JSON.stringify(input), name: parts.map(Object.isFrozen).join() }`,
    ),
    'echo.js': returning('return { message: input.payload }'),
    'length.js': returning('return { message: String(input.payload.text.length) }'),
    'talk.js': returning(
      `console.log('a', { b: 1 }, 2); console.error('x'.repeat(5000))
       for (let i = 0; i < 150; i++) console.debug(i)`,
    ),
    'two.ts': `export const wake = async () => { await null; return { action: 'wake' as const, text: 'up' } }`,
  })

  it('passes the payload and the rest of the input, frozen', async () => {
    const input = callWith({ a: [1, 'zwei', null, { b: '😀' }] })
    const { result } = await shared().sandbox.load('show.js').run(input)
    expect(JSON.parse((result as { message: string }).message)).toEqual({
      ...input,
      payload: { a: [1, 'zwei', null, { b: '😀' }] },
    })
    expect(result).toMatchObject({ name: 'true,true,true,true' })
  })

  it('accepts the payload as text and as bytes', async () => {
    const echo = shared().sandbox.load('echo.js')
    expect((await echo.run({ ...callWith(0), payload: '"ä"' })).result).toEqual({ message: 'ä' })
    expect((await echo.run({ ...callWith(0), payload: new Uint8Array(Buffer.from('  "ö" ')) })).result).toEqual({
      message: 'ö',
    })
  })

  it('accepts payloads of several megabytes, and many at once', async () => {
    const length = shared().sandbox.load('length.js', { timeoutMs: 10_000 })
    const sizes = [1, 100_000, 3_000_000, 7, 65_536]
    const results = await Promise.all(sizes.map((size) => run(length, { text: 'x'.repeat(size) })))
    expect(results.map(({ result }) => result)).toEqual(sizes.map((size) => ({ message: String(size) })))
    expect((await faultOf(run(length, { text: 'x'.repeat(20_000_000) }))).fault).toBe('memory')
  })

  it('returns and logs what the transform writes to its console, up to a limit', async () => {
    const { sandbox, lines } = shared()
    const { logs } = await run(sandbox.load('talk.js'))
    expect(logs).toHaveLength(101)
    expect(logs[0]).toEqual(['info', 'a {"b":1} 2'])
    expect(logs[1]).toEqual(['error', 'x'.repeat(2000)])
    expect(logs[100]).toEqual(['warn', '52 more lines were dropped'])
    expect(lines.filter(({ fields }) => fields['transform'] === 'talk.js')).toContainEqual({
      level: 'info',
      fields: { transform: 'talk.js' },
      message: 'a {"b":1} 2',
    })
  })

  it('runs the named export, which may be an async function', async () => {
    const { sandbox } = shared()
    expect((await run(sandbox.load('two.ts', { export: 'wake' }))).result).toEqual({ action: 'wake', text: 'up' })
    const fault = await faultOf(run(sandbox.load('two.ts')))
    expect([fault.fault, fault.message]).toEqual([
      'no_function',
      'The transform two.ts cannot be used: its default export is not a function.',
    ])
  })
})

describe('the globals of a transform', () => {
  const uses = [
    [
      'Base64',
      `const same = atob(btoa('\\u00ff\\u0000hey')) === '\\u00ff\\u0000hey'
       return { message: same && btoa('a') + btoa('ab') + btoa('abc') }`,
      'YQ==YWI=YWJj',
    ],
    [
      'UTF-8',
      `const encoder = new TextEncoder()
       return { message: new TextDecoder().decode(encoder.encode('ü😀')) + encoder.encode('\\ud800').length }`,
      'ü😀3',
    ],
    ['Base64 in a payload', `return { message: JSON.parse(atob(input.payload.data)).to }`, 'me@example.com'],
    [
      'localized dates and numbers',
      `return { message: new Intl.NumberFormat('de').format(1234.5) + new Date(0).toISOString() }`,
      '1.234,51970-01-01T00:00:00.000Z',
    ],
    [
      'regular expressions, maps, classes',
      `class A { #x = 1; get x() { return this.#x } }
       return { message: 'a-b'.replace(/(?<l>a)/u, '$<l>!') + [...new Map([[1, 2]])] + new A().x }`,
      'a!-b1,21',
    ],
  ] as const
  addTransforms(uses)

  it.each(uses)('include %s', async (name, _code, message) => {
    const payload = { data: btoa('{"to":"me@example.com"}') }
    expect((await run(load(name), payload)).result).toEqual({ message })
  })
})

describe('a result of a transform', () => {
  const all = {
    action: 'agent',
    message: 'm',
    text: 't',
    name: 'n',
    agentId: 'a',
    sessionKey: 's',
    wakeMode: 'now',
    deliver: false,
    channel: 'c',
    to: 'x',
    accountId: 'i',
    threadId: 'h',
    model: 'p/m',
    thinking: 'low',
    timeoutSeconds: 1.5,
    idempotencyKey: 'k',
  }
  const good: readonly [string, string, unknown][] = [
    ['nothing', 'return', undefined],
    ['null', 'return null', null],
    ['an object', `return ${JSON.stringify(all)}`, all],
    ['an empty list', 'return []', []],
    [
      'a list of 200',
      `return Array.from({ length: 200 }, (_, i) => ({ message: String(i) }))`,
      Array.from({ length: 200 }, (_, i) => ({ message: String(i) })),
    ],
    ['fields that are undefined', `return { message: 'x', to: undefined }`, { message: 'x' }],
  ]
  const bad = [
    ['a string', `return 'x'`, 'it is a string'],
    ['true', 'return true', 'it is a boolean'],
    ['a function', 'return () => 1', 'it is a function'],
    ['another key', `return { mesage: 'secret' }`, 'mesage is not a known key'],
    ['another type', `return { deliver: 'secret' }`, 'deliver must be true or false'],
    ['null for a field', `return { to: null }`, 'to must be a string'],
    ['another action', `return { action: 'secret' }`, 'action must be one of "wake", "agent"'],
    ['a list of 201', `return Array.from({ length: 201 }, () => ({}))`, '201 actions'],
    ['a list with null', 'return [null]', 'must be an object'],
    ['a list of lists', 'return [[]]', 'must be an object'],
    ['more than a megabyte', `return { message: 'x'.repeat(1048577) }`, 'larger than 1048576'],
    ['a promise that never settles', 'return new Promise(() => {})', 'never settles'],
  ] as const
  addTransforms([...good, ...bad])

  it.each(good)('may be %s', async (name, _code, expected) => {
    expect((await run(load(name))).result).toEqual(expected)
  })

  it.each(bad)('may not be %s', async (name, _code, words) => {
    const error = await faultOf(run(load(name)))
    expect([error.fault, error.code, error.status]).toEqual(['bad_result', 'transform_failed', 500])
    expect(error.message).toContain(words)
    expect(error.message).not.toContain('secret')
    expect(error.publicMessage).toBe("The hook's transform failed. See the gateway's log.")
  })
})

describe('a transform with a payload schema', () => {
  const module = `import { Type } from 'svc-gateway/transform'
    export const payload = Type.Object({
      items: Type.Array(Type.Object({ id: Type.Integer() })),
      kind: Type.Optional(Type.String({ pattern: '^(a+)+$' })),
    })
    export default ({ payload }) => ({ message: String(payload.items.length) })`
  Object.assign(files, { 'typed.ts': module, 'plain.ts': module.replace('svc-gateway/transform', 'typebox') })

  it('runs if the payload matches, and is refused with the path of the problem otherwise', async () => {
    for (const file of ['typed.ts', 'plain.ts']) {
      const typed = shared().sandbox.load(file)
      expect((await run(typed, { items: [{ id: 1 }] })).result).toEqual({ message: '1' })
      const error = await faultOf(run(typed, { items: [{ id: 1 }, { id: 'secret' }] }))
      expect([error.status, error.code, error.message]).toEqual([
        400,
        'invalid_request',
        'items[1].id must be a whole number.',
      ])
      expect((await faultOf(run(typed, {}))).message).toBe('items is required.')
      expect((await faultOf(run(typed, 5))).message).toBe('the payload must be an object.')
    }
  })

  it('exposes its schema as JSON Schema, which the gateway itself never runs', async () => {
    const { sandbox } = shared()
    const typed = sandbox.load('typed.ts')
    expect(typed.payloadSchema).toMatchObject({
      type: 'object',
      required: ['items'],
      properties: { kind: { pattern: '^(a+)+$' } },
    })
    const brief = sandbox.load('typed.ts', { timeoutMs: 100 })
    expect((await faultOf(run(brief, { items: [], kind: `${'a'.repeat(40)}b` }))).fault).toBe('timeout')
    expect((await run(typed, { items: [] })).result).toEqual({ message: '0' })
  })
})

/** The sandbox of the tests that end its processes. */
const ending = shareSandbox({
  'parse.ts':
    `import { parse } from './lib/parse.ts'\n` +
    `export default ({ payload }: { payload: { text: string } }) => ({ message: parse(payload.text) })\n`,
  'lib/parse.ts':
    `interface Unused {\n  a: string\n}\n\n` +
    `export function parse(text: string): string {\n  throw new TypeError('cannot parse ' + text)\n}\n`,
  'helper.ts':
    `import { lines } from 'svc-gateway/transform'\n\n` +
    `export default ({ payload }: { payload: { lines: string[] } }) => ({\n  message: lines(payload.lines),\n})\n`,
  'error.js': returning('throw new Error("x")'),
  'string.js': returning('throw "x"'),
  'quick.js': returning('return null'),
  'loop.js': returning('if (input.payload.loop) for (;;); return null'),
  'deep.js': returning('const f = () => f() + 1; return f()'),
  'echo.js': returning('return { message: String(input.payload) }'),
  'slow.js': returning(
    'for (const end = Date.now() + 100; Date.now() < end;); return { message: String(input.payload) }',
  ),
  'wait.js': returning('for (const end = Date.now() + input.payload; Date.now() < end;); return null'),
})

describe('a transform that fails', () => {
  it('is reported with the class and line of the error, and without its message in the log', async () => {
    const { sandbox, lines } = ending()
    const error = await faultOf(run(sandbox.load('parse.ts'), { text: 'secret' }))
    expect([error.fault, error.message, error.detail]).toEqual([
      'threw',
      'The transform parse.ts threw a TypeError at parse.ts:6.',
      'TypeError: cannot parse secret',
    ])
    expect(JSON.stringify(lines)).not.toContain('secret')
  })

  it('is reported with its own line if a helper of the gateway throws', async () => {
    const { sandbox } = ending()
    const { message } = await faultOf(run(sandbox.load('helper.ts'), { lines: [5] }))
    expect(message).toBe('The transform helper.ts threw a TypeError at helper.ts:4.')
  })

  it.each([
    ['error.js', 'an Error'],
    ['string.js', 'a string'],
  ])('is reported in words: %s', async (file, thrown) => {
    const message = `The transform ${file} threw ${thrown}`
    expect((await faultOf(run(ending().sandbox.load(file)))).message).toMatch(message)
  })

  it('is not stopped because the gateway itself was blocked', async () => {
    const { sandbox, lines } = ending()
    const quick = sandbox.load('quick.js', { timeoutMs: 250 })
    await run(quick)
    const linesBefore = lines.length
    const runs = Array.from({ length: 20 }, () => run(quick))
    await new Promise((resolve) => setImmediate(resolve))
    for (const end = performance.now() + 400; performance.now() < end;);
    await Promise.all(runs)
    expect(lines.slice(linesBefore).filter(({ level }) => level !== 'info')).toEqual([])
  })

  it('is stopped at its own time limit, and disabled after three times in a row, until its file changes', async () => {
    const { sandbox, write, lines } = ending()
    const loop = sandbox.load('loop.js')
    const brief = sandbox.load('loop.js', { timeoutMs: 100 })
    expect((await faultOf(run(brief, { loop: true }))).message).toBe(
      'The transform loop.js did not end within its time limit.',
    )
    expect((await faultOf(run(brief, { loop: true }))).fault).toBe('timeout')
    await run(loop)
    for (const fault of ['timeout', 'timeout', 'timeout', 'disabled', 'disabled'])
      expect((await faultOf(run(brief, { loop: true }))).fault).toBe(fault)
    expect(loop.state().state).toBe('open')
    const errors = lines.filter(({ level, fields }) => level === 'error' && fields['transform'] === 'loop.js')
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('three times in a row')])
    write('loop.js', returning(`return { message: 'fixed' }`))
    await expect.poll(() => loop.state().state).toBe('ready')
    expect((await run(loop)).result).toEqual({ message: 'fixed' })
  })

  it('has its process replaced after many stack overflows', async () => {
    const { sandbox } = ending()
    const deep = sandbox.load('deep.js')
    await faultOf(run(deep))
    const [before] = sandbox.status().processes
    for (let count = 0; count < 100; count++) expect((await faultOf(run(deep))).fault).toBe('threw')
    expect(sandbox.status().processes.map(({ pid }) => pid)).not.toContain(before?.pid)
  })
})

describe('the sandbox processes', () => {
  it('start with the first call and end with the sandbox', async () => {
    const { sandbox } = startSandbox({ 'a.js': returning('return null') })
    expect(sandbox.status()).toEqual({ processes: [], transforms: [] })
    await run(sandbox.load('a.js'))
    const { processes, transforms } = sandbox.status()
    expect(transforms).toEqual([{ module: 'a.js', export: 'default', state: 'ready', loadedAt: expect.any(String) }])
    const [{ pid } = { pid: 0 }] = processes
    await sandbox.close()
    expect(() => process.kill(pid!, 0)).toThrow('ESRCH')
  })

  it('load a transform once, however many mappings use it', async () => {
    const { sandbox, lines, write } = ending()
    write('a.js', `${returning('return null')}\nexport const b = () => undefined`)
    const exportsOfA = (): string[] =>
      sandbox.status().transforms.flatMap((state) => (state.module === 'a.js' ? state.export : []))
    const handles = Array.from({ length: 1000 }, () => sandbox.load('a.js'))
    const other = sandbox.load('a.js', { export: 'b' })
    await Promise.all([...handles, other].map(({ ready }) => ready))
    expect(exportsOfA()).toEqual(['default', 'b'])
    const linesOfA = lines.filter(({ fields }) => fields['transform'] === 'a.js')
    expect(linesOfA.map(({ message }) => message)).toEqual(['transform loaded', 'transform loaded'])
    for (const handle of handles.slice(1)) handle.close()
    expect((await run(handles[0]!)).result).toBeNull()
    handles[0]!.close()
    expect(exportsOfA()).toEqual(['b'])
  })

  it('exit when the gateway is killed', async () => {
    const { dir } = startSandbox({ 'a.js': returning('return null') })
    const source = new URL('../../core/sandbox/sandbox.ts', import.meta.url).href
    const script = `const { createSandbox } = await import('${source}')
      const log = { debug() {}, info() {}, warn() {}, error() {} }
      const sandbox = createSandbox({ root: '${dir}', dir: '${dir}', log })
      await sandbox.load('a.js').run({ payload: '{}', headers: {}, query: {}, path: '', now: '', mapping: {} })
      process.stdout.write('<' + sandbox.status().processes[0].pid + '>')
      setInterval(() => {}, 1000)`
    const gateway = spawn(process.execPath, ['--conditions=svc-gateway-source', '--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void gateway.kill('SIGKILL'))
    let text = ''
    for await (const chunk of gateway.stdout) if ((text += String(chunk)).includes('>')) break
    const pid = Number(/<(\d+)>/.exec(text)?.[1])
    expect(process.kill(pid, 0)).toBe(true)
    gateway.kill('SIGKILL')
    await expect.poll(() => isAlive(pid)).toBe(false)
  })

  it('are replaced when they are killed, and their pending runs are repeated', async () => {
    const { sandbox } = ending()
    const slow = sandbox.load('slow.js', { timeoutMs: 5000 })
    await run(slow, 0)
    const runs = [1, 2, 3].map((number) => run(slow, number))
    process.kill(sandbox.status().processes[0]!.pid!, 'SIGKILL')
    expect((await Promise.all(runs)).map(({ result }) => result)).toEqual(
      ['1', '2', '3'].map((message) => ({ message })),
    )
    expect((await run(slow, 4)).result).toEqual({ message: '4' })
  })

  it('are started again when the system can start processes again', async () => {
    const { sandbox, lines } = ending()
    const echo = sandbox.load('echo.js')
    await run(echo, 0)
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = '/nowhere'
    try {
      while (sandbox.status().processes.length > 0) {
        for (const { pid } of sandbox.status().processes) process.kill(pid!, 'SIGKILL')
        await run(echo, 1).catch(() => undefined)
      }
      expect(await faultOf(run(echo, 2))).toMatchObject({ fault: 'busy', status: 503 })
    } finally {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
    }
    await expect.poll(() => run(echo, 3).catch(() => undefined)).toMatchObject({ result: { message: '3' } })
    expect(lines).toContainEqual({
      level: 'error',
      fields: { reason: 'mkdtemp failed: ENOENT' },
      message: 'a sandbox process cannot be started; it is tried again',
    })
  })

  it('refuse runs when too many are waiting', async () => {
    const wait = ending().sandbox.load('wait.js', { timeoutMs: 5000 })
    await run(wait, 0)
    // The others wait for the first run, which takes longer than it takes to start all of them.
    const ends = await Promise.allSettled(Array.from({ length: 1100 }, (_, n) => run(wait, n === 0 ? 500 : 0)))
    const faults = ends.map((end) => (end.status === 'rejected' ? (end.reason as TransformError) : undefined))
    expect(faults.filter((error) => error?.message.startsWith('Too many transform runs'))).toHaveLength(1100 - 1024)
    expect(faults.at(-1)).toMatchObject({ fault: 'busy', code: 'overloaded', status: 503, retryAfter: 1 })
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
