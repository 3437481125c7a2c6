// The checks of the authentication of a preset: what the service signs is accepted, and whatever an attacker makes of it
// is refused.
import { expect } from 'vitest'
import { hookAuthRules } from '../../core/config/rules/hook-auth.ts'
import { type HookAuth, hookAuthSchema } from '../../core/config/schema/hook-auth.ts'
import { type Schemes, settingsOfScheme, signaturesOf } from '../../core/config/schemes.ts'
import { signRequest } from '../../core/hooks/auth/sign-request.ts'
import { createVerifier } from '../../core/hooks/auth/verify-signature.ts'
import type { Verified, Verifier } from '../../core/hooks/auth/verifier.ts'
import { loadBuiltins } from '../../core/loader/registry.ts'
import { isInputError } from '../../core/plugin/errors.ts'
import type { OutgoingRequest, Preset, Scheme } from '../../core/plugin/plugin.ts'
import { compileCheck } from '../../core/typebox.ts'
import type { Check } from './check.ts'
import { createTestContext } from './context.ts'
import { digestsIn, freeHeaders, withoutProof, withOtherBody, withOtherProof } from './forged-requests.ts'
import type { PresetCase, PresetSample, SignedSample } from './preset-case.ts'

export function authChecks<Config>(
  { auth: declared }: Pick<Preset<never, never>, 'auth'>,
  settings: PresetCase<Config>,
): Check[] {
  const { accepted, signed, scheme, hookToken = false } = settings
  if (!declared)
    return [
      {
        name: 'has an authentication',
        advice: 'Name the scheme of the service in `auth`, or set `hookToken` in the case if it sends the hook token.',
        run: () => expect({ hookToken, isSigned: signed !== undefined }).toEqual({ hookToken: true, isSigned: false }),
      },
    ]
  const authOf = (signed: SignedSample): HookAuth => ({ ...declared, ...signed.auth })
  return [
    {
      name: 'accepts a signed request and refuses one that was changed',
      advice: 'Let `auth` describe how the service signs, and give a `signed` request as the service sends it.',
      async run() {
        const schemes = await schemesWith(scheme)
        if (!signed) {
          const { secret } = schemes.get(declared.scheme) ?? {}
          return expect(secret, 'The preset has `auth`; give a `signed` request of the service.').toBe(false)
        }
        const auth = authOf(signed)
        expect(compileCheck(hookAuthSchema(schemes)).problems(auth)).toEqual([])
        expect([...hookAuthRules(auth, { schemes })].filter(({ warning }) => !warning)).toEqual([])
        const verifier = createVerifier(auth, { schemes, log })
        expect(await verify(verifier, signed)).toMatchObject({ ok: true })
        expect(await verify(verifier, tamperWith(verifier, signed))).toMatchObject({ ok: false })
      },
    },
    ...(signed
      ? [
          {
            name: 'verifies what `trigger` signs, and rejects another secret, another body and an old time',
            advice: 'Let the scheme sign the body and the time, and compare them with the secret.',
            async run() {
              const schemes = await schemesWith(scheme)
              for (const sample of accepted)
                await checkSigning(sample, {
                  auth: authOf(signed),
                  schemes,
                  toleranceSeconds: settings.toleranceSeconds,
                })
            },
          },
        ]
      : []),
    ...forgeryChecks(settings, declared),
  ]
}

type Declared = NonNullable<Preset['auth']>

/** Forged requests. If the service has the only key, only those without a proof are known. */
function forgeryChecks<Config>({ accepted, signed, scheme }: PresetCase<Config>, declared: Declared): Check[] {
  const attack = async (): Promise<Attack> =>
    openAttack({
      auth: { ...declared, ...signed?.auth },
      sample: signed ?? { auth: {}, headers: {}, body: JSON.stringify(accepted[0]?.payload ?? {}) },
      schemes: await schemesWith(scheme),
    })
  return [
    {
      name: 'refuses a request without its proof',
      advice:
        'Refuse a request without the header of the signature, whatever else it says: everybody can write the other ' +
        'headers. Name the headers of the proof in `hiddenHeaders`, unless `signatures` or `tokens` do.',
      run: async () => (await attack()).refusesUnproven(),
    },
    ...(signed
      ? [
          {
            name: 'refuses a signature that is wrong in one place',
            advice:
              'Compare the whole signature, in its exact case, with `createMatcher` of `svc-gateway/kit`, and verify ' +
              'a token before you read it.',
            run: async () => (await attack()).refusesOtherProof(),
          },
          {
            name: 'keeps the secret and the signature to itself',
            advice:
              'Say in `reason` and in replies what is wrong, without the secret and without the signature that would ' +
              'be right: whoever reads the log could sign.',
            run: async () => (await attack()).keepsSecrets(),
          },
        ]
      : []),
  ]
}

interface Attack {
  refusesUnproven(): Promise<void>
  refusesOtherProof(): Promise<void>
  keepsSecrets(): Promise<void>
}

interface Target {
  auth: HookAuth
  sample: SignedSample
  schemes: Schemes
}

function openAttack({ auth, sample, schemes }: Target): Attack {
  const verifier = createVerifier(auth, { schemes, log })
  const proof = [...verifier.hiddenHeaders, 'authorization', 'x-svc-token']
  const read = new Set<string>()
  /** A scheme that fails accepts nothing. */
  const judge = async (request: SignedSample): Promise<Verified> => {
    try {
      return await verify(verifier, request, (name) => void read.add(name))
    } catch {
      return { ok: false, reason: '' }
    }
  }
  const acceptedOf = async (forged: readonly SignedSample[]): Promise<SignedSample[]> => {
    const verdicts = await Promise.all(forged.map(judge))
    return forged.filter((_request, index) => verdicts[index]?.ok)
  }
  const others = [...withOtherProof(sample, proof), ...(verifier.signsBody ? withOtherBody(sample) : [])]
  return {
    async refusesUnproven() {
      const bare = { ...sample, headers: {} }
      const hasProof = Object.keys(sample.headers).some((name) => proof.includes(name))
      const isInBody = !hasProof && verifier.signsBody && (await judge(bare)).ok
      const forged = isInBody ? withOtherBody(bare) : withoutProof(sample, proof)
      expect(await acceptedOf(forged), 'requests that are accepted without their proof').toEqual([])
      const free = [...read].filter((name) => freeHeaders.has(name) && !(name in sample.headers))
      expect(free, 'headers that the scheme reads; give them in `signed` as the service sends them').toEqual([])
    },
    async refusesOtherProof() {
      expect(await acceptedOf(others), 'requests that are accepted with another proof').toEqual([])
    },
    async keepsSecrets() {
      const verdicts = await Promise.all([...withoutProof(sample, proof), ...others].map(judge))
      const said = JSON.stringify(verdicts.map((one) => (one.ok ? [one.handshake, one.acknowledgement] : one.reason)))
      const found = secretsIn({ auth, sample, proof }).filter((secret) => said.includes(secret))
      expect(found.length, 'secrets and right signatures in verdicts').toBe(0)
    },
  }
}

/** The secrets of the case, and the digests of the signed request in each encoding. */
function secretsIn({
  auth: { secret, secrets = [] },
  sample,
  proof,
}: Pick<Target, 'auth' | 'sample'> & { proof: readonly string[] }): string[] {
  const configured = [secret, ...secrets.map((one) => (typeof one === 'string' ? one : one.secret))]
  const shown = Object.entries(sample.headers).filter(([name]) => proof.includes(name))
  const digests = shown.flatMap(([, value]) => digestsIn(value)).flatMap(inEachEncoding)
  return [...configured.filter((text) => typeof text === 'string' && text.length > 3), ...digests] as string[]
}

function inEachEncoding(digest: string): string[] {
  const isHex = /^(?:[\da-f]{2})+$/i.test(digest)
  const bytes = Buffer.from(digest, isHex ? 'hex' : 'base64')
  return [digest, bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')]
}

const { log } = createTestContext()

export const schemesWith = async (scheme: Scheme<never> | undefined): Promise<Schemes> => {
  const { schemes } = await loadBuiltins()
  return scheme ? new Map([...schemes, [scheme.name, scheme]]) : schemes
}

interface Signing {
  auth: HookAuth
  schemes: Schemes
  toleranceSeconds: number | undefined
}

/** Signs as `svc-gateway trigger` does. Where the service has the only key, there is nothing to check. */
async function checkSigning({ payload, headers = {} }: PresetSample, signing: Signing): Promise<void> {
  const { auth, schemes } = signing
  const { secret, secrets: _secrets, ...rest } = auth
  const now = Date.now()
  const unsigned = { url: 'https://gateway.example.com/hooks/x', headers, body: Buffer.from(JSON.stringify(payload)) }
  const sent = trySigning(() => signRequest(auth, unsigned, { schemes, now }))
  if (!sent || secret === undefined) return expect(isSignedByService(signing)).toBe(true)
  const judge = (settings: object, at = now, body = sent.body) => {
    const verifier = createVerifier({ ...rest, ...settings }, { schemes, log })
    return verify(verifier, { ...sent, auth, body: body.toString(), at })
  }
  const other = otherSecret(secret)
  const verdict = await judge({ secret })
  expect(verdict).toMatchObject({ ok: true })
  expect(verdict, 'An event must not be answered as a handshake: it would start nothing.').not.toHaveProperty(
    'handshake.body',
  )
  expect(await judge({ secret: other })).toMatchObject({ ok: false })
  if (createVerifier(auth, { schemes, log }).signsBody)
    expect(await judge({ secret }, now, Buffer.concat([sent.body, Buffer.from(' ')]))).toMatchObject({ ok: false })
  const seconds = signing.toleranceSeconds ?? toleranceOf(signing)
  if (seconds !== undefined) expect(await judge({ secret }, now + (seconds + 2) * 1000)).toMatchObject({ ok: false })
  expect(await judge({ secrets: [other, secret] })).toMatchObject({ ok: true, secretIndex: 1 })
  const expired = { secret, notAfter: new Date(now - 1000).toISOString() }
  expect(await judge({ secrets: [other, expired] })).toMatchObject({ ok: false })
}

function trySigning(sign: () => OutgoingRequest): OutgoingRequest | undefined {
  try {
    return sign()
  } catch (error) {
    if (isInputError(error)) return undefined
    throw error
  }
}

function isSignedByService({ auth, schemes }: Signing): boolean {
  const scheme = schemes.get(auth.scheme) as Scheme<never>
  const signatures = signaturesOf(scheme, settingsOfScheme(scheme, auth))
  return scheme.createVerifier !== undefined || signatures.some(({ algorithm }) => algorithm === 'ed25519')
}

function toleranceOf({ auth, schemes }: Signing): number | undefined {
  const scheme = schemes.get(auth.scheme) as Scheme<never>
  const timed = signaturesOf(scheme, settingsOfScheme(scheme, auth)).find(({ timestamp }) => timestamp)
  return timed && (auth.toleranceSeconds ?? timed.timestamp?.toleranceSeconds ?? 300)
}

/** Another secret in the same encoding. */
function otherSecret(secret: string): string {
  const middle = Math.floor(secret.length / 2)
  return `${secret.slice(0, middle)}${secret[middle] === 'a' ? 'b' : 'a'}${secret.slice(middle + 1)}`
}

const verify = async (
  verifier: Verifier,
  { headers, body, at = Date.now(), url = '' }: SignedSample,
  onRead: (name: string) => void = () => undefined,
) =>
  verifier.verify({
    header: (name) => {
      onRead(name)
      return headers[name]
    },
    rawBody: Buffer.from(body),
    method: 'POST',
    url: () => url,
    now: at,
  })

/** Another body, or another secret where the scheme shows it without signing. */
function tamperWith({ signsBody, hiddenHeaders }: Verifier, sample: SignedSample): SignedSample {
  if (signsBody) return { ...sample, body: `${sample.body} ` }
  const secrets = new Set([...hiddenHeaders, 'authorization', 'x-svc-token'])
  const headers = Object.entries(sample.headers).map(([name, value]) => [name, secrets.has(name) ? `${value}x` : value])
  return { ...sample, headers: Object.fromEntries(headers) as Record<string, string> }
}
