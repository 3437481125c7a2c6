// Tests the command `transform test` as a child process.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { program } from '../program.ts'

/** Runs `svc-gateway transform test <args>` in a new folder with some files. */
async function test(files: Record<string, string>, args: string[], input = '') {
  const folder = mkdtempSync(join(tmpdir(), 'svc-gateway-transform-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const done = Promise.withResolvers<{ code: unknown; stdout: string; stderr: string }>()
  const options = {
    cwd: folder,
    env: { PATH: process.env['PATH'], XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'], HOME: folder },
  }
  const child = execFile(process.execPath, [program, 'transform', 'test', ...args], options, (error, stdout, stderr) =>
    done.resolve({ code: error?.code ?? 0, stdout, stderr }),
  )
  child.stdin?.end(input)
  return await done.promise
}

const hello =
  `export default ({ payload, headers, now }) => { console.warn('hm'); return payload.who ? { ` +
  `message: [payload.who, headers['x-event'], now].join() } : null }
export const other = () => { throw new TypeError('secret ' + 5) }`

describe('svc-gateway transform test', () => {
  it('prints the result and the console output', async () => {
    const files = { 'transforms/hello.js': hello, 'payload.json': '{ "who": "Ann" }' }
    const done = await test(files, [
      'hello.js',
      '--payload',
      'payload.json',
      '--header',
      'X-Event: push:1',
      '--now',
      '2026-01-01T00:00:00Z',
    ])
    expect(done).toEqual({
      code: 0,
      stdout: '{\n  "message": "Ann,push:1,2026-01-01T00:00:00Z"\n}\n',
      stderr: expect.stringMatching(/^warn: hm\nIt returned fields of the action\. \([\d.]+ ms\)\n$/),
    })
  })

  it('reads the payload from standard input and the folder from the configuration', async () => {
    const files = {
      'there/gateway.json5': `{ hooks: { transformsDir: 'transforms/mine' } }`,
      'there/transforms/mine/hello.js': hello,
    }
    const done = await test(files, ['hello.js', '--payload', '-', '--config', 'there/gateway.json5'], '{}')
    expect(done).toMatchObject({
      code: 0,
      stdout: 'null\n',
      stderr: expect.stringContaining('It returned null: the request is skipped.'),
    })
  })

  const keyed = 'export default ({ payload }) => payload'
  const refusals: [string, object, string][] = [
    ['a session of another namespace', { message: 'x', sessionKey: 'main' }, 'sessionKey is not accepted here'],
    ['an unknown model', { message: 'x', model: 'nobody/x' }, 'model names a provider that is not configured'],
    ['a blank text', { action: 'wake', text: ' ' }, 'text must not be blank'],
    [
      'an id that is too long',
      { message: 'x', idempotencyKey: 'x'.repeat(257) },
      'The id of the request is longer than 256 characters',
    ],
  ]

  it.each(refusals)('rejects what the hook would reject: %s', async (_case, payload, sentence) => {
    const files = { 'gateway.json5': `{ hooks: {} }`, 'transforms/keyed.js': keyed }
    const { code, stdout, stderr } = await test(files, ['keyed.js', '--payload', '-'], JSON.stringify(payload))
    expect({ code, result: JSON.parse(stdout) }).toEqual({ code: 1, result: payload })
    expect(stderr).toContain(`The hook would reject this with 400 invalid_request: `)
    expect(stderr).toContain(sentence)
  })

  it('combines the result with the mapping that uses the transform', async () => {
    const mapping = `{ id: 'mine', match: { path: 'in' }, sessionKey: 'main', transform: { module: 'keyed.js' } }`
    const files = (hooks: string) => ({
      'gateway.json5': `{ hooks: { ${hooks} mappings: [${mapping}] } }`,
      'transforms/keyed.js': keyed,
    })
    const args = ['keyed.js', '--payload', '-']
    expect(await test(files(''), args, '{"message":"x"}')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('It is tested as the mapping "mine" uses it.'),
    })
    expect(await test(files(''), args, '{"name":"x"}')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('message is required'),
    })
    const bounded = await test(files(`allowedSessionKeyPrefixes: ['hook:'],`), args, '{"message":"x"}')
    expect(bounded).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('sessionKey must begin with one of the prefixes'),
    })
  })

  it('accepts session keys and payloads that a hook accepts', async () => {
    const files = { 'transforms/keyed.js': keyed }
    expect(await test(files, ['keyed.js', '--payload', '-'], '{"message":"x","sessionKey":"hook:mine"}')).toMatchObject(
      { code: 0 },
    )
    const form = ['keyed.js', '--payload', '-', '--header', 'content-type: application/x-www-form-urlencoded']
    expect(await test(files, form, 'message=x')).toMatchObject({ code: 0, stdout: '{\n  "message": "x"\n}\n' })
    expect(await test(files, ['keyed.js', '--payload', '-'], '7')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The body must be a JSON object or array'),
    })
  })

  it('hides credentials from the transform, as the hook does', async () => {
    const files = { 'transforms/see.js': 'export default ({ headers }) => ({ message: Object.keys(headers).join() })' }
    const headers = ['--header', 'Authorization: Bearer x', '--header', 'x-event: push']
    expect(await test(files, ['see.js', '--payload', '-', ...headers], '{}')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"x-event"'),
    })
  })

  it('prints one JSON object with --json', async () => {
    const files = { 'transforms/hello.js': hello, 'transforms/quiet.js': 'export default () => undefined' }
    const testJson = async (args: string[], input: string) => {
      const { code, stdout, stderr } = await test(files, [...args, '--payload', '-', '--json'], input)
      return { code, stderr, printed: JSON.parse(stdout) as unknown }
    }
    const ms = expect.any(Number)
    const logs = [{ level: 'warn', text: 'hm' }]
    expect(await testJson(['hello.js', '--now', '2026-01-01T00:00:00Z'], '{ "who": "Ann" }')).toEqual({
      code: 0,
      stderr: '',
      printed: { ok: true, result: { message: 'Ann,,2026-01-01T00:00:00Z' }, ms, logs },
    })
    expect((await testJson(['hello.js'], '{}')).printed).toEqual({ ok: true, result: null, ms, logs })
    expect((await testJson(['quiet.js'], '{}')).printed).toEqual({ ok: true, ms, logs: [] })
  })

  it('prints errors of the hook and of the transform in the JSON object', async () => {
    const mapping = `{ id: 'mine', match: { path: 'in' }, transform: { module: 'keyed.js' } }`
    const files = {
      'gateway.json5': `{ hooks: { mappings: [${mapping}] } }`,
      'transforms/keyed.js': keyed,
      'transforms/late.js': `export default () => { console.log('before'); throw new TypeError('secret 6') }`,
    }
    const testJson = async (...args: string[]) => {
      const { code, stdout, stderr } = await test(files, [...args, '--payload', '-', '--json'], '{"name":"x"}')
      return { code, stderr, printed: JSON.parse(stdout) as unknown }
    }
    expect(await testJson('keyed.js')).toEqual({
      code: 1,
      stderr: '',
      printed: {
        ok: false,
        mapping: 'mine',
        result: { name: 'x' },
        ms: expect.any(Number),
        logs: [],
        error: { code: 'invalid_request', status: 400, message: expect.stringContaining('message is required') },
      },
    })
    expect(await testJson('late.js')).toEqual({
      code: 1,
      stderr: '',
      printed: {
        ok: false,
        logs: [{ level: 'info', text: 'before' }],
        error: {
          code: 'transform_failed',
          status: 500,
          message: 'The transform late.js threw a TypeError at late.js:1.',
          detail: 'TypeError: secret 6',
        },
      },
    })
  })

  it.each([
    [
      ['other.js', '--payload', '-'],
      'There is no other.js in the transforms directory; check the name and its extension.\n',
    ],
    [['../hello.js', '--payload', '-'], /^"\.\.\/hello\.js" must be a relative path .*\n$/],
    [
      ['hello.js', '--payload', '-', '--export', 'other'],
      'The transform hello.js threw a TypeError at hello.js:2.\nTypeError: secret 5\n',
    ],
    [['hello.js', '--payload', 'nothing.json'], '--payload: nothing.json cannot be read (ENOENT).\n'],
    [['hello.js', '--payload', 'nothing.json', '--json'], '--payload: nothing.json cannot be read (ENOENT).\n'],
    [['hello.js'], /^error: required option '--payload <file>' not specified/],
  ])('ends with 1 and says why: %j', async (args, words) => {
    const { code, stdout, stderr } = await test({ 'transforms/hello.js': hello }, args, '{}')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toEqual(typeof words === 'string' ? words : expect.stringMatching(words))
  })
})
