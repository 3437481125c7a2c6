// Checks the credentials: texts that can be guessed although they are long, secrets that are used twice, and clients
// whose tokens expire.
import { resolveCredential } from '../../config/credentials.ts'
import { commandLine } from '../../config/file/locate.ts'
import type { ClientConfig, Config } from '../../config/schema/schema.ts'
import { isExposed } from './exposure.ts'
import type { Finding } from './finding.ts'
import { withConfig } from './subject.ts'

export const checkCredentials = withConfig(({ resolved: { config }, document: { env } }) => {
  const { mode, value } = resolveCredential(config.gateway.auth, env)
  const credentials = [
    { where: `gateway.auth.${mode}`, value },
    { where: 'hooks.token', value: config.hooks.enabled ? config.hooks.token : undefined },
    ...config.gateway.auth.clients.map(({ name, token }) => ({ where: whereOf(name), value: token })),
  ].filter((one): one is Credential => one.value !== undefined)
  const severity = isExposed(config.gateway) ? 'error' : 'warning'
  return [
    ...credentials.filter(isWeak).map(({ where }) => weakCredential(where, severity)),
    ...findReused(credentials, listTokens(config)),
    ...config.gateway.auth.clients.flatMap(findExpiry),
  ]
})

const whereOf = (name: string): string => `gateway.auth.clients.${name}`

const soonMs = 14 * 24 * 60 * 60 * 1000

function findExpiry({ name, notAfter }: ClientConfig): Finding[] {
  const leftMs = notAfter === undefined ? Infinity : Date.parse(notAfter) - Date.now()
  if (leftMs > soonMs) return []
  const renew = `${commandLine(`clients revoke ${name}`)}, then ${commandLine(`clients add ${name} --not-after 90d`)}`
  const base = {
    severity: 'warning' as const,
    where: whereOf(name),
    fix: `Give it a new token, or remove it: ${renew}`,
  }
  return leftMs < 0
    ? [{ ...base, id: 'client_expired', problem: `The token of the client ${name} expired at ${notAfter}.` }]
    : [{ ...base, id: 'client_expiring', problem: `The token of the client ${name} expires at ${notAfter}.` }]
}

interface Credential {
  where: string
  value: string
}

/** Shorter ones are warnings of the configuration already. */
const minLength = 24
/** Random texts of 24 characters have fewer in one case of many billions. */
const minDistinct = 8
const placeholder = /change[-_ ]?me|your[-_ ]|example|placeholder|password|123456|abcdef|<.*>/i

const isWeak = ({ value }: Credential): boolean =>
  value.length >= minLength && (new Set(value).size < minDistinct || placeholder.test(value))

const weakCredential = (where: string, severity: Finding['severity']): Finding => ({
  id: 'token_weak',
  severity,
  where,
  problem: `${where} looks like a placeholder or repeats few characters, so it could be guessed.`,
  fix: 'Use a random one, such as the output of: openssl rand -base64 32',
})

/** The bearer tokens of mappings. Secrets that sign may be shared, because they are never sent. */
const listTokens = ({ hooks }: Config): Credential[] =>
  hooks.mappings.flatMap(({ auth }, index) => {
    if (auth?.scheme !== 'token') return []
    const keys = `hooks.mappings[${index}].auth`
    const several = (auth.secrets ?? []).map((secret, at) => ({
      where: `${keys}.secrets[${at}]`,
      value: typeof secret === 'string' ? secret : secret.secret,
    }))
    return auth.secret === undefined ? several : [{ where: `${keys}.secret`, value: auth.secret }, ...several]
  })

function findReused(credentials: readonly Credential[], tokens: readonly Credential[]): Finding[] {
  return tokens.flatMap(({ where, value }) => {
    const same = credentials.find((one) => one.value.trim() === value.trim())
    if (!same) return []
    const problem = `${where} is the same as ${same.where}, so its sender can use more than this hook.`
    return [{ id: 'token_reused', severity: 'warning', where, problem, fix: `Set another token at ${where}.` }]
  })
}
