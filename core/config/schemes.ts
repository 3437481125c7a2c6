// Reads what a scheme declares: its settings in `auth`, its signatures with defaults, and the keys of its secrets.
import type { Scheme, Signature } from '../plugin/plugin.ts'
import { fillDefaults } from './defaults.ts'
import type { HookAuth } from './schema/hook-auth.ts'

/** The loaded schemes, by name. */
export type Schemes = ReadonlyMap<string, Scheme<never>>

/** A signature with its defaults. */
export type FullSignature = Signature &
  Required<Pick<Signature, 'algorithm' | 'encoding' | 'prefix' | 'signed' | 'secretEncoding'>>

/** The keys that the scheme adds to `auth`. */
export const keysOfScheme = ({ config }: Pick<Scheme<never>, 'config'>): string[] =>
  Object.keys((config as { properties?: object } | undefined)?.properties ?? {})

/** The settings that the scheme's functions get: its own keys with defaults, `url` and `toleranceSeconds`. */
export function settingsOfScheme(scheme: Scheme<never>, auth: HookAuth): never {
  const keys = new Set([...keysOfScheme(scheme), 'url', 'toleranceSeconds'])
  const own = Object.entries(auth).filter(([key, value]) => keys.has(key) && value !== undefined)
  return fillDefaults(scheme.config ?? {}, Object.fromEntries(own)) as never
}

/** Empty if the scheme does not sign. */
export const signaturesOf = ({ signatures = [] }: Scheme<never>, settings: never): readonly FullSignature[] =>
  (typeof signatures === 'function' ? signatures(settings) : signatures).map(withDefaults)

const withDefaults = (signature: Signature): FullSignature => ({
  ...signature,
  algorithm: signature.algorithm ?? 'sha256',
  encoding: signature.encoding ?? 'hex',
  prefix: signature.prefix ?? '',
  signed: signature.signed ?? '{body}',
  secretEncoding: signature.secretEncoding ?? 'utf8',
})

/** Whether the URL that the sender calls is signed. */
export const coversUrl = ({ covers = [] }: Scheme<never>, signatures: readonly FullSignature[]): boolean =>
  covers.includes('url') || signatures.some(({ signed }) => typeof signed === 'string' && signed.includes('{url}'))

/** @returns the secret without its prefix; undefined if it is for another signature of the scheme */
export function keyTextOf(
  secret: string,
  { algorithm, secretPrefix }: FullSignature,
  signatures: readonly FullSignature[],
): string | undefined {
  const prefix = signatures.find((one) => one.secretPrefix && secret.startsWith(one.secretPrefix))?.secretPrefix
  if (prefix === undefined) return algorithm === 'ed25519' && secretPrefix ? undefined : secret
  return prefix === secretPrefix ? secret.slice(prefix.length) : undefined
}

const placeholder = /\{(?:body|timestamp|method|url|headers\.[^{}]+)\}/g

/** What is wrong with a text of `signed`, as the end of a sentence. */
export function signedTextProblem(signed: string): string | undefined {
  if (/[{}]/.test(signed.replaceAll(placeholder, '')))
    return 'may contain {body}, {timestamp}, {method}, {url} and {headers.<name>}, but no other braces'
  return signed.includes('{body}') ? undefined : 'must contain {body}; otherwise anybody could change the body'
}

/** The first scheme that reads one of these headers, if the value can be its signature or is a placeholder. */
export function findScheme(
  headers: Readonly<Record<string, string>>,
  schemes: Schemes,
): { name: string; header: string } | undefined {
  for (const { name, signatures, tokens } of schemes.values())
    for (const { header, prefix = '' } of listOf(signatures ?? tokens)) {
      const value = headers[header]
      if (value !== undefined && (prefix === '' || isPlaceholder(value) || value.includes(prefix)))
        return { name, header }
    }
  return undefined
}

/** Headers that depend on the configuration are not known. */
const listOf = (declared: unknown): readonly { header: string; prefix?: string }[] =>
  Array.isArray(declared) ? (declared as { header: string }[]) : []

/** `$SIGNATURE`, `<signature>`, `{signature}` or `...` */
const isPlaceholder = (value: string): boolean => /[$<>{}…]|\.\.\.|^[A-Z_]+$/.test(value)
