// The scheme of Google's push services: a token that Google signed for the configured audience and account.
import { createTokenVerifier } from 'svc-gateway/kit'
import { defineScheme, InputError, type SchemeContext, type SchemeProblem, type Static, Type } from 'svc-gateway/plugin'

const googleKeys = 'https://www.googleapis.com/oauth2/v3/certs'

const Text = (description: string, options: { default?: string } = {}) =>
  Type.Optional(Type.String({ pattern: String.raw`\S`, ...options, description }))

const Config = Type.Object({
  audience: Text('the required audience. Default: the URL of the hook below gateway.publicUrl.'),
  email: Text('the required service account.'),
  keysUrl: Text(`the URL of the public keys. Default: \`${googleKeys}\`.`, { default: googleKeys }),
})
type Settings = Static<typeof Config>

export const scheme = defineScheme<Settings>({
  name: 'google-oidc',
  description: 'Push messages of Google, such as those of Pub/Sub.',
  config: Config,
  secret: false,
  findProblems,
  createVerifier,
  sign() {
    throw new InputError('Only Google can sign for the scheme google-oidc.')
  },
})

const issuers = ['https://accounts.google.com', 'accounts.google.com']

function createVerifier({ audience, email, keysUrl = googleKeys }: Settings, { hookUrl }: SchemeContext) {
  const verifyToken = createTokenVerifier({
    keysUrl,
    issuers,
    audience: audience ?? hookUrl ?? '',
    clockSkewSeconds: 60,
  })
  return async ({ header, now }: { header: (name: string) => string | undefined; now: number }) => {
    const [, bearer] = /^bearer[ \t]+(\S+)[ \t]*$/i.exec(header('authorization') ?? '') ?? []
    const token = await verifyToken(bearer, now)
    if ('problem' in token) return { ok: false as const, reason: `the token ${token.problem}` }
    const { email: account, email_verified: verified } = token.claims
    if (account !== email || verified !== true)
      return { ok: false as const, reason: 'the token belongs to another account' }
    return { ok: true as const }
  }
}

function* findProblems({ audience, email, keysUrl }: Settings, { hookUrl }: SchemeContext): Iterable<SchemeProblem> {
  if (audience === undefined && hookUrl === undefined) {
    const problem =
      'is required; set the audience of the push subscription, or gateway.publicUrl if the audience is the URL ' +
      'of the hook'
    yield { key: 'audience', problem }
  }
  // Any Google account can get a token for this audience. Only the account identifies ours.
  if (email === undefined)
    yield { key: 'email', problem: 'is required; set the service account of the push subscription' }
  if (keysUrl !== undefined && !/^https?:\/\//.test(keysUrl))
    yield { key: 'keysUrl', problem: 'must be a URL that starts with https://' }
}
