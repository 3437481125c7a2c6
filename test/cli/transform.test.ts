// Tests the command `transform test`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../helpers.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'

/** Runs `svc-gateway transform test <args>` in a new folder with some files. */
async function test(files: Record<string, string>, args: string[], input?: string) {
  const folder = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const command = ['transform', 'test', ...args]
  return input === undefined ? await runHere(folder, command) : await run(folder, command, { input })
}

const hello =
  `export default ({ payload, headers, now }) => { console.warn('hm'); return payload.who ? { ` +
  `message: [payload.who, Object.keys(headers), headers['x-event'], now].join() } : null }
export const other = () => { throw new TypeError('secret ' + 5) }`

describe('svc-gateway transform test', () => {
  it('prints the result and the console output, and hides credentials as the hook does', async () => {
    const files = { 'transforms/hello.js': hello, 'payload.json': '{ "who": "Ann" }' }
    const done = await test(files, [
      'hello.js',
      '--payload',
      'payload.json',
      '--header',
      'X-Event: push:1',
      '--header',
      'Authorization: Bearer x',
      '--now',
      '2026-01-01T00:00:00Z',
    ])
    expect(done).toEqual({
      code: 0,
      stdout: '{\n  "message": "Ann,x-event,push:1,2026-01-01T00:00:00Z"\n}\n',
      stderr: expect.stringMatching(/^warn: hm\nIt returned fields of the action\. \([\d.]+ ms\)\n$/),
    })
  })

  it('reads the payload from standard input, and the folder and the mapping from the configuration', async () => {
    const mapping = `{ id: 'mine', match: { path: 'in' }, transform: { module: 'hello.js' } }`
    const files = {
      'there/gateway.json5': `{ hooks: { transformsDir: 'transforms/mine', mappings: [${mapping}] } }`,
      'there/transforms/mine/hello.js': hello,
    }
    const done = await test(files, ['hello.js', '--payload', '-', '--config', 'there/gateway.json5'], '{}')
    expect(done).toMatchObject({
      code: 0,
      stdout: 'null\n',
      stderr: expect.stringMatching(
        /It returned null: the request is skipped\.[^]*It is tested as the mapping "mine" uses it\./,
      ),
    })
  })

  const keyed = 'export default ({ payload }) => payload'
  it('rejects what the hook would reject', async () => {
    const payload = { message: 'x', sessionKey: 'main' }
    const files = { 'gateway.json5': `{ hooks: {} }`, 'transforms/keyed.js': keyed }
    const { code, stdout, stderr } = await test(files, ['keyed.js', '--payload', '-'], JSON.stringify(payload))
    expect({ code, result: JSON.parse(stdout) }).toEqual({ code: 1, result: payload })
    expect(stderr).toContain('The hook would reject this with 400 invalid_request: sessionKey is not accepted here')
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
      printed: { ok: true, result: { message: 'Ann,,,2026-01-01T00:00:00Z' }, ms, logs },
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
      ['other.js', '--payload', 'payload.json'],
      'There is no other.js in the transforms directory; check the name and its extension.\n',
    ],
    [['../hello.js', '--payload', 'payload.json'], /^"\.\.\/hello\.js" must be a relative path .*\n$/],
    [
      ['hello.js', '--payload', 'payload.json', '--export', 'other'],
      'The transform hello.js threw a TypeError at hello.js:2.\nTypeError: secret 5\n',
    ],
    [['hello.js', '--payload', 'nothing.json'], '--payload: nothing.json cannot be read (ENOENT).\n'],
    [['hello.js', '--payload', 'nothing.json', '--json'], '--payload: nothing.json cannot be read (ENOENT).\n'],
    [['hello.js'], /^error: required option '--payload <file>' not specified/],
  ])('ends with 1 and says why: %j', async (args, words) => {
    const { code, stdout, stderr } = await test({ 'transforms/hello.js': hello, 'payload.json': '{}' }, args)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toEqual(typeof words === 'string' ? words : expect.stringMatching(words))
  })
})
