// Schemes of a stranger's package, as data and as a function: through HTTP, signed by `trigger`, and misbehaving.
import { createHmac, hash } from 'node:crypto'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { hookAuthRules } from '../../../core/config/rules/hook-auth.ts'
import { createVerifier } from '../../../core/hooks/auth/verify-signature.ts'
import type { Scheme } from '../../../core/plugin/plugin.ts'
import { presetContract } from '../../contracts.ts'
import { createTestContext } from '../../contracts/context.ts'
import { runHere } from '../../cli/in-process.ts'
import { startReachable } from '../../cli/reachable-gateway.ts'
import { temporaryFolder, writeConfig } from '../../helpers.ts'
import { share } from '../../share.ts'
import { parcel, parcelScheme, vault, vaultScheme } from './odd-signing.ts'
import { schemes } from '../schemes.ts'
import { requestOf } from '../signing.ts'

const [parcelKey, oldParcelKey] = ['a0'.repeat(24), 'b1'.repeat(24)]
const vaultSecret = 'the-secret-of-the-vault'
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const body = '{"text":"Grüße."}'

const shared = share(async () => {
  const dir = temporaryFolder()
  const folder = join(dir, 'node_modules', 'odd-signing')
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(import.meta.dirname, 'odd-signing.ts'), join(folder, 'index.ts'))
  writeFileSync(join(folder, 'package.json'), '{ "name": "odd-signing", "type": "module", "exports": "./index.ts" }')
  const notAfter = '2999-01-01T00:00:00Z'
  const file = writeConfig(dir, {
    plugins: ['odd-signing'],
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: {
      presets: ['parcel', 'vault', 'github'],
      parcel: { ...quiet, auth: { secrets: [`pk_${parcelKey}`, { secret: oldParcelKey, notAfter }] } },
      vault: { ...quiet, auth: { secret: vaultSecret } },
      github: { ...quiet, auth: { secret: 'another secret' } },
    },
  })
  const gateway = await startReachable(file)
  return { ...gateway, dir, cli: (...args: string[]) => runHere(dir, ['trigger', ...args]) }
})

const post = async (hook: string, sent: string, headers: Record<string, string>) => {
  const response = await fetch(`${shared().url}/hooks/${hook}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: sent,
  })
  return { status: response.status, text: await response.text() }
}

let count = 0
const signParcel = ({ at = Date.now(), key = parcelKey, text = body, id = `p${++count}` } = {}) => ({
  'x-parcel-id': id,
  'x-parcel-time': String(at),
  'x-parcel-proof': `v2=${createHmac('sha512', Buffer.from(key, 'hex')).update(`${id}|${at}|${text}`).digest('base64')}`,
})

const signVault = ({ at = Date.now(), secret = vaultSecret, text = body } = {}) => {
  const time = new Date(at).toISOString()
  const content = ['test', time, hash('sha256', text)].join('|')
  return {
    'x-vault-time': time,
    'x-vault-proof': createHmac('sha256', secret).update(content).digest('base64url'),
  }
}

const schemesOf = (scheme: Scheme<never>) => new Map([...schemes, [scheme.name, scheme]])

presetContract(parcel, {
  scheme: parcelScheme,
  accepted: [{ what: 'an event', payload: { text: 'Hello.' } }],
  signed: { auth: { secret: parcelKey }, headers: signParcel(), body },
})

presetContract(vault, {
  scheme: vaultScheme,
  toleranceSeconds: 60,
  accepted: [{ what: 'an event', payload: { text: 'Hello.' } }],
  signed: { auth: { secret: vaultSecret }, headers: signVault(), body },
})

describe('a scheme that is data', () => {
  it('verifies signature, time, body and secret, and answers as its service expects', async () => {
    expect(await post('parcel', body, signParcel())).toMatchObject({ status: 200, text: '{"received":true}' })
    expect(await post('parcel', body, signParcel({ key: oldParcelKey }))).toMatchObject({ status: 200 })
    expect(await post('parcel', body, signParcel({ at: Date.now() - 33_000 }))).toMatchObject({ status: 401 })
    expect(await post('parcel', `${body} `, signParcel())).toMatchObject({ status: 401 })
    expect(await post('parcel', body, signParcel({ key: 'c2'.repeat(24) }))).toMatchObject({ status: 401 })
    expect(await post('parcel', body, { ...signParcel(), 'x-parcel-id': 'other' })).toMatchObject({ status: 401 })
    const text = '{"check":"abc"}'
    expect(await post('parcel', text, signParcel({ text }))).toMatchObject({ status: 200, text })
    const { items } = (await shared().get('/api/hooks')).body
    const { mappings } = items.find(({ name }: { name: string }) => name === 'parcel')
    expect(mappings).toMatchObject([
      {
        scheme: 'parcel',
        secrets: [{ lastUsedAt: /./ }, { lastUsedAt: /./ }].map(() => ({ lastUsedAt: expect.any(String) })),
      },
    ])
  })

  it('gives one request per signed id, and hides its header', async () => {
    const headers = signParcel({ id: 'same' })
    await post('parcel', body, headers)
    await post('parcel', body, headers)
    const { items } = (await shared().get('/api/requests?hook=parcel')).body
    const { body: request } = await shared().get(`/api/requests/${items[0].id}`)
    expect(request).toMatchObject({ headers: { 'x-parcel-proof': '[redacted]', 'x-parcel-id': 'same' } })
    expect(items.filter(({ status }: { status: string }) => status === 'duplicate')).toHaveLength(1)
  })

  it('is signed by trigger', async () => {
    expect(await shared().cli('parcel', '--sample')).toMatchObject({ code: 0, stdout: '{"received":true}\n' })
    const wrong = await shared().cli('parcel', '--sample', '--secret', 'c2'.repeat(24))
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('401 unauthorized') })
  })

  it('accepts nothing when a reply is nonsense', async () => {
    const text = '{"text":"nonsense"}'
    expect(await post('parcel', text, signParcel({ text }))).toMatchObject({
      status: 500,
      text: expect.stringContaining('"type":"scheme_failed"'),
    })
  })
})

describe('a scheme that is a function', () => {
  it('verifies signature, time, body and secret', async () => {
    expect(await post('vault', body, signVault())).toMatchObject({ status: 200 })
    expect(await post('vault', body, signVault({ at: Date.now() - 61_000 }))).toMatchObject({ status: 401 })
    expect(await post('vault', `${body} `, signVault())).toMatchObject({ status: 401 })
    expect(await post('vault', body, signVault({ secret: 'another' }))).toMatchObject({ status: 401 })
    expect(shared().logged.join('\n')).toContain('not verified: the proof is wrong')
    // An accepted request clears the count of failed ones.
    expect(await post('vault', body, signVault())).toMatchObject({ status: 200 })
  })

  it('is signed by trigger', async () => {
    expect(await shared().cli('vault', '--sample')).toMatchObject({ code: 0, stderr: '' })
    expect(await shared().cli('vault', '--data', body, '--dry-run')).toMatchObject({
      stdout: expect.stringContaining('x-vault-proof: '),
    })
  })

  it.each(['throw', 'reject', 'nonsense'])('accepts nothing when it misbehaves: %s', async (mode) => {
    const { logged } = shared()
    const before = logged.length
    const { status, text } = await post('vault', body, { ...signVault(), 'x-vault-mode': mode })
    expect({ status, text }).toMatchObject({ status: 500, text: expect.stringContaining('"type":"scheme_failed"') })
    const lines = logged.slice(before).join('\n')
    expect(lines).toContain('"scheme":"vault"')
    expect(text + lines).not.toContain(vaultSecret)
    expect((await post('vault', body, signVault())).status).toBe(200)
  })

  it('accepts nothing when it exceeds its time limit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const auth = { scheme: 'vault', issuer: 'test', secret: vaultSecret }
    const verifier = createVerifier(auth, { schemes: schemesOf(vaultScheme), log: createTestContext().log })
    const headers: Record<string, string> = { ...signVault(), 'x-vault-mode': 'hang' }
    const verdict = verifier.verify({ ...requestOf({ headers, body, url: '' }), now: Date.now() })
    await Promise.all([
      expect(verdict).rejects.toMatchObject({ code: 'scheme_failed', status: 500 }),
      vi.advanceTimersByTimeAsync(10_000),
    ])
  })

  it('accepts nothing when it cannot be prepared, and when it points at a secret that it did not get', async () => {
    const judge = (createVerifierOf: Scheme['createVerifier']) => {
      const scheme = { ...vaultScheme, createVerifier: createVerifierOf } as Scheme<never>
      const auth = { scheme: 'vault', issuer: 'test', secrets: [{ secret: 'old', notAfter: '2020-01-01' }, 'new'] }
      const verifier = createVerifier(auth, { schemes: schemesOf(scheme), log: createTestContext().log })
      return verifier.verify(requestOf({ headers: {}, body, url: '' }))
    }
    const failure = { code: 'scheme_failed' }
    await expect(
      judge(() => {
        throw new Error('no')
      }),
    ).rejects.toMatchObject(failure)
    await expect(judge(() => () => ({ ok: true, secretIndex: 1 }))).rejects.toMatchObject(failure)
    await expect(judge(() => () => ({ ok: true, id: 5 }) as never)).rejects.toMatchObject(failure)
    await expect(judge(() => () => undefined as never)).rejects.toMatchObject(failure)
    expect(
      await judge(() => ({ secrets }) => ({ ok: true, secretIndex: secrets.indexOf('new') })),
    ).toEqual({
      ok: true,
      secretIndex: 1,
    })
    expect(await judge(() => () => ({ ok: false }) as never)).toMatchObject({ ok: false })
  })
})

describe('the rules of auth for a foreign scheme', () => {
  const problemsOf = (auth: object) =>
    Array.from(
      hookAuthRules({ scheme: 'vault', secret: 's', ...auth }, { schemes: schemesOf(vaultScheme) }),
      ({ keys, problem }) => `${keys.join('.')} ${problem}`,
    )

  it.each([
    ['is required', {}, 'issuer is required'],
    ['has another type', { issuer: 5 }, 'issuer must be a string'],
    ['does not satisfy the scheme', { issuer: 'nobody' }, 'issuer must be somebody'],
    [
      'belongs to another scheme',
      { issuer: 'a', timestampHeader: 'x' },
      'timestampHeader is not supported by the scheme "vault"; it belongs to hmac',
    ],
    ['is misspelled', { issuer: 'a', urll: 'x' }, 'urll is not supported by the scheme "vault"; did you mean "url"?'],
    ['makes the scheme fail', { issuer: 'crash' }, 'scheme is a scheme that fails with these settings (Error'],
    ['is the name of no scheme', { scheme: 'valt' }, 'scheme is not a known scheme; did you mean "vault"?'],
  ])('report a key that %s', (_case, auth, problem) => {
    expect(problemsOf(auth)).toEqual([expect.stringContaining(problem)])
  })

  it('accept its own keys', () => expect(problemsOf({ issuer: 'test' })).toEqual([]))
})
