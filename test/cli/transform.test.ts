// The command `transform test`, as a process of its own.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'

const main = new URL('../../core/main.ts', import.meta.url).pathname

/** Runs `svc-gateway transform test <args>` in a folder of its own with some files. */
async function test(files: Record<string, string>, args: string[], input = '') {
  const folder = mkdtempSync(join(tmpdir(), 'svc-gateway-transform-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const done = Promise.withResolvers<{ code: unknown; stdout: string; stderr: string }>()
  const options = { cwd: folder, env: { PATH: process.env['PATH'], XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'], HOME: folder } }
  const child = execFile(process.execPath, ['--conditions=svc-gateway-source', main, 'transform', 'test', ...args], options, (error, stdout, stderr) =>
    done.resolve({ code: error?.code ?? 0, stdout, stderr }),
  )
  child.stdin?.end(input)
  return await done.promise
}

const hello = `export default ({ payload, headers, now }) => { console.warn('hm'); return payload.who ? { message: [payload.who, headers['x-event'], now].join() } : null }
export const other = () => { throw new TypeError('secret ' + 5) }`

describe('svc-gateway transform test', () => {
  it('prints what the transform returns, and what it says beside it', async () => {
    const files = { 'transforms/hello.js': hello, 'payload.json': '{ "who": "Ann" }' }
    const done = await test(files, ['hello.js', '--payload', 'payload.json', '--header', 'X-Event: push:1', '--now', '2026-01-01T00:00:00Z'])
    expect(done).toEqual({
      code: 0,
      stdout: '{\n  "message": "Ann,push:1,2026-01-01T00:00:00Z"\n}\n',
      stderr: expect.stringMatching(/^warn: hm\nIt returned fields of the action\. \([\d.]+ ms\)\n$/),
    })
  })

  it('takes the payload from standard input, and the folder from the configuration', async () => {
    const files = { 'there/gateway.json5': `{ hooks: { transformsDir: 'transforms/mine' } }`, 'there/transforms/mine/hello.js': hello }
    const done = await test(files, ['hello.js', '--payload', '-', '--config', 'there/gateway.json5'], '{}')
    expect(done).toMatchObject({ code: 0, stdout: 'null\n', stderr: expect.stringContaining('It returned null: the request is skipped.') })
  })

  it.each([
    [['other.js', '--payload', '-'], 'There is no other.js in the transforms directory; write the whole name, with its ending.\n'],
    [['../hello.js', '--payload', '-'], /^"\.\.\/hello\.js" must be a relative path .*\n$/],
    [['hello.js', '--payload', '-', '--export', 'other'], 'The transform hello.js threw a TypeError at hello.js:2.\nTypeError: secret 5\n'],
    [['hello.js', '--payload', 'nothing.json'], /^ENOENT.*nothing\.json'\n$/],
    [['hello.js'], /^error: required option '--payload <file>' not specified/],
  ])('ends with 1 and says why: %j', async (args, words) => {
    const { code, stdout, stderr } = await test({ 'transforms/hello.js': hello }, args, '{}')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toEqual(typeof words === 'string' ? words : expect.stringMatching(words))
  })
})
