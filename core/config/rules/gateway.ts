// Checks the credential, the trusted proxies and the URL of the store.
import { isIP } from 'node:net'
import { resolveCredential } from '../credentials.ts'
import { networkSentence } from '../schema/formats.ts'
import { type RuleContext, type RuleFinding, shortToken } from './rule.ts'

export function* gatewayRules(context: RuleContext): Iterable<RuleFinding> {
  yield* credentialRules(context)
  const { gateway, storage } = context.config
  yield* gateway.trustedProxies.flatMap((network, index) =>
    isNetwork(network.trim()) ? [] : [{ keys: ['gateway', 'trustedProxies', String(index)], problem: networkSentence }],
  )
  yield* storageRules(storage)
}

function* storageRules({ url, retention }: RuleContext['config']['storage']): Iterable<RuleFinding> {
  const isPostgres = /^postgres(ql)?:\/\//.test(url)
  if (isPostgres) yield* connectionRules(url)
  if (isPostgres && retention.maxMb > 0)
    yield {
      keys: ['storage', 'retention', 'maxMb'],
      problem: 'works only with an SQLite store; remove it, and limit storage.retention.days instead',
    }
}

const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']
/** libpq knows others, for connections that only read. */
const sessionAttributes = ['any', 'read-write', 'primary']

/** The driver would take an unknown mode for a strict one. The problem does not repeat the URL, which is a secret. */
function* connectionRules(url: string): Iterable<RuleFinding> {
  const keys = ['storage', 'url']
  const parameter = (name: string): string | undefined => new RegExp(`[?&]${name}=([^&]*)`).exec(url)?.[1]
  const [mode, attributes] = [parameter('sslmode'), parameter('target_session_attrs')]
  if (attributes !== undefined && !sessionAttributes.includes(attributes))
    yield {
      keys,
      problem:
        `has a target_session_attrs that a gateway cannot use, because it writes; use one of ` +
        sessionAttributes.join(', '),
    }
  if (mode !== undefined && !sslModes.includes(mode))
    yield { keys, problem: `has an unknown sslmode; use one of ${sslModes.join(', ')}` }
  if (mode === 'verify-ca' && !url.includes('sslrootcert='))
    yield { keys, problem: 'has sslmode=verify-ca, which needs sslrootcert=<file>; add it, or use verify-full' }
}

function* credentialRules({ config, env }: RuleContext): Iterable<RuleFinding> {
  const { mode, value } = resolveCredential(config.gateway.auth, env)
  const other = mode === 'token' ? 'password' : 'token'
  const keys = ['gateway', 'auth', mode]
  if (value === undefined && resolveCredential({ ...config.gateway.auth, mode: other }, env).value !== undefined) {
    yield {
      keys,
      problem:
        `is required, because gateway.auth.mode is "${mode}"; set it or ` +
        `SVC_GATEWAY_${mode.toUpperCase()}, or set the mode to "${other}"`,
    }
  }
  if (value !== undefined && value.length < 24) yield shortToken(keys)
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const family = isIP(address)
  return (
    family !== 0 &&
    more.length === 0 &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)))
  )
}
