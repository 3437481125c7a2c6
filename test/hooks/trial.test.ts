// The trial of a transform, as `transform test` and the transform contract use it: it follows the rules of the hook.
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfigText } from '../../core/config/file/read.ts'
import { resolveConfig } from '../../core/config/resolve.ts'
import { tryTransform } from '../../core/hooks/trial.ts'
import { loadExtensions } from '../../core/loader/registry.ts'
import { createTestContext } from '../contracts/context.ts'
import type { Document } from '../helpers.ts'
import { shareSandbox } from '../sandbox/start-sandbox.ts'

const shared = shareSandbox({ 'keyed.js': 'export default ({ payload }) => payload' })

/** Tries a transform that returns the payload. */
async function attempt(body: string, hooks: Document = {}, headers: Record<string, string> = {}) {
  const { sandbox, dir } = shared()
  const { log } = createTestContext()
  const text = JSON.stringify({ hooks })
  const document = readConfigText({ file: join(dir, 'gateway.json5'), text, mode: 0o600, env: {} })
  const extensions = await loadExtensions({ plugins: [], dir, log })
  const { config } = resolveConfig(document, extensions)
  const request = { module: 'keyed.js', exportName: 'default', body: Buffer.from(body), headers, now: '' }
  return await tryTransform({ config, dir, extensions, sandbox, log }, request)
}

const refusal = (sentence: string) =>
  expect.objectContaining({ status: 400, code: 'invalid_request', message: expect.stringContaining(sentence) })

describe('a trial', () => {
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
    expect(await attempt(JSON.stringify(payload))).toMatchObject({ run: { result: payload }, error: refusal(sentence) })
  })

  it('combines the result with the mapping that uses the transform', async () => {
    const mapping = { id: 'mine', match: { path: 'in' }, sessionKey: 'main', transform: { module: 'keyed.js' } }
    const hooks = { mappings: [mapping] }
    expect(await attempt('{"message":"x"}', hooks)).toMatchObject({ mapping: 'mine', error: undefined })
    expect(await attempt('{"name":"x"}', hooks)).toMatchObject({ error: refusal('message is required') })
    expect(await attempt('{"message":"x"}', { ...hooks, allowedSessionKeyPrefixes: ['hook:'] })).toMatchObject({
      error: refusal('sessionKey must begin with one of the prefixes'),
    })
  })

  it('accepts session keys and payloads that a hook accepts', async () => {
    expect(await attempt('{"message":"x","sessionKey":"hook:mine"}')).toMatchObject({ error: undefined })
    expect(await attempt('message=x', {}, { 'content-type': 'application/x-www-form-urlencoded' })).toMatchObject({
      run: { result: { message: 'x' } },
      error: undefined,
    })
    expect(await attempt('7')).toMatchObject({
      run: undefined,
      error: expect.objectContaining({ message: expect.stringContaining('The body must be a JSON object or array') }),
    })
  })
})
