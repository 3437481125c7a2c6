// A stranger's package: two presets whose services sign in their own ways, one as data and one with a function.
import { createHmac, hash } from 'node:crypto'
import { createMatcher } from 'svc-gateway/kit'
import { definePreset, defineScheme, type Static, Type } from 'svc-gateway/plugin'

const Payload = Type.Object({ text: Type.String({ maxLength: 10_000 }) })

const presetOf = (name: string, auth: { scheme: string; issuer?: string }) =>
  definePreset<Static<typeof Payload>>({
    name,
    description: `Events of ${name}.`,
    payload: Payload,
    mapping: { name, messageTemplate: '{{ text }}' },
    auth,
    samples: () => [{ name: 'event', payload: { text: 'Hello.' } }],
  })

export const parcel = presetOf('parcel', { scheme: 'parcel' })

export const parcelScheme = defineScheme({
  name: 'parcel',
  description: 'Webhooks of the parcel service.',
  signatures: [
    {
      header: 'x-parcel-proof',
      algorithm: 'sha512',
      encoding: 'base64',
      prefix: 'v2=',
      separator: ' ',
      signed: '{headers.x-parcel-id}|{timestamp}|{body}',
      timestamp: { header: 'x-parcel-time', unit: 'ms', toleranceSeconds: 30 },
      id: 'x-parcel-id',
      secretEncoding: 'hex',
      secretPrefix: 'pk_',
    },
  ],
  answerHandshake: ({ check }) => (typeof check === 'string' ? { check } : undefined),
  acknowledge: ({ text }) => (text === 'nonsense' ? (7 as never) : { received: true }),
})

const Vault = Type.Object({ issuer: Type.String({ description: 'who issues the signatures.' }) })
type Vault = Static<typeof Vault>

export const vault = presetOf('vault', { scheme: 'vault', issuer: 'test' })

const digestOf = (secret: string, { time, issuer, body }: { time: string; issuer: string; body: Buffer }): string =>
  createHmac('sha256', secret)
    .update([issuer, time, hash('sha256', body)].join('|'))
    .digest('base64url')

export const vaultScheme = defineScheme<Vault>({
  name: 'vault',
  description: 'Webhooks of the vault.',
  config: Vault,
  covers: ['body'],
  hiddenHeaders: ['x-vault-proof'],
  findProblems: function* ({ issuer }) {
    if (issuer === 'nobody') yield { key: 'issuer', problem: 'must be somebody' }
    if (issuer === 'crash') throw new Error('a faulty check')
  },
  createVerifier({ issuer }) {
    return async ({ header, rawBody, now, secrets, signal }) => {
      const time = header('x-vault-time') ?? ''
      await misbehave(header('x-vault-mode'), signal)
      if (header('x-vault-mode') === 'nonsense') return { ok: 'yes' } as never
      if (Math.abs(now - Date.parse(time)) > 60_000) return { ok: false, reason: 'the time is too far from now' }
      const matches = createMatcher(header('x-vault-proof') ?? '')
      const secretIndex = secrets.findIndex((secret) => matches(digestOf(secret, { time, issuer, body: rawBody })))
      return secretIndex < 0 ? { ok: false, reason: 'the proof is wrong' } : { ok: true, secretIndex }
    }
  },
  sign({ body }, { secret, settings: { issuer }, now }) {
    const time = new Date(now).toISOString()
    return { headers: { 'x-vault-time': time, 'x-vault-proof': digestOf(secret, { time, issuer, body }) } }
  },
})

function misbehave(mode: string | undefined, signal: AbortSignal): Promise<void> {
  if (mode === 'throw') throw new Error('It knows the-secret-of-the-vault.')
  if (mode === 'reject') return Promise.reject(new Error('It knows the-secret-of-the-vault.'))
  return mode === 'hang' ? new Promise((_, reject) => signal.addEventListener('abort', reject)) : Promise.resolve()
}

export default [parcel, parcelScheme, vault, vaultScheme]
