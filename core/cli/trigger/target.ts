// Finds out how the sender of a hook authenticates, and where the hook is: from the configuration and from options.
import { readConfigFile } from '../../config/file/read.ts'
import { locateConfig } from '../../config/file/locate.ts'
import { normalizeHookName } from '../../config/hooks-path.ts'
import { suggest } from '../../config/nearest.ts'
import { resolveConfig } from '../../config/resolve.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import { presetSection } from '../../config/schema/hooks.ts'
import { type Extensions, loadExtensions } from '../../loader/registry.ts'
import { CommandError } from '../../plugin/errors.ts'
import { addressOf, createMissingConfigError, readUrl } from '../locate-gateway.ts'

export interface TargetOptions {
  config?: string
  url?: string
  /** The hook token. */
  token?: string
  secret?: string
  scheme?: string
  mapping?: string
}

export interface Target {
  /** The complete address of the hook. */
  url: string
  /** How the hook authenticates its sender; `token` with the hook token if it has no scheme of its own. */
  auth: HookAuth
}

interface TargetSource {
  local: Local | undefined
  schemes: Extensions['schemes']
}

/** A gateway elsewhere needs no configuration here, if the options say how its hook authenticates. */
export function findTarget(hook: string, options: TargetOptions & TargetSource): Target {
  const { local } = options
  const givenUrl = readUrl(options)
  if (!local && givenUrl === undefined) throw createMissingConfigError()
  const name = normalizeHookName(hook)
  const { hooks, gateway } = local?.config ?? {}
  const base = givenUrl ?? addressOf(gateway as Config['gateway'], local?.file as string)
  const path = `${hooks?.path ?? '/hooks'}/${name.split('/').map(encodeURIComponent).join('/')}`
  const found = withOptions(name, options)
  const publicUrl = gateway?.publicUrl
  return {
    url: base + path,
    auth: {
      ...(found ?? { scheme: 'token', secret: hookToken(options, { hooks, isElsewhere: givenUrl !== undefined }) }),
      ...(found && publicUrl !== undefined && found.url === undefined && { url: publicUrl + path }),
    },
  }
}

/** The configuration on this machine. */
export interface Local extends Disposable {
  config: Config
  file: string
  extensions: Extensions
}

/** @param option the value of `--config` */
export async function readLocal(option: string | undefined): Promise<Local | undefined> {
  const file = locateConfig({ option })
  if (file === undefined) return undefined
  const document = readConfigFile(file)
  const extensions = await loadExtensions(document)
  const { config } = resolveConfig(document, extensions)
  return { config, file, extensions, [Symbol.dispose]: extensions.close }
}

/** The hook's own `auth`, with the scheme and the secret of the options. Undefined: the hook accepts the hook token. */
function withOptions(
  name: string,
  { local, mapping, secret, scheme, schemes }: TargetOptions & TargetSource,
): HookAuth | undefined {
  const names = [...schemes.keys()]
  if (scheme !== undefined && !names.includes(scheme))
    throw new CommandError(
      `--scheme ${scheme} is unknown; ${suggest(scheme, names, `use one of ${names.join(', ')}.`)}`,
    )
  const own = local && authOf(name, { local, mapping })
  const secretOf = secret === undefined ? {} : { secret, secrets: undefined }
  const wanted =
    scheme ?? own?.scheme ?? (secret === undefined ? undefined : local?.extensions.presets.get(name)?.auth?.scheme)
  if (wanted === undefined && secret !== undefined)
    throw new CommandError('--secret is for hooks that sign; name the scheme with --scheme, or omit --secret.')
  return wanted === undefined ? undefined : { ...own, scheme: wanted, ...secretOf }
}

/** The `auth` of the first mapping or preset with this name. */
function authOf(
  name: string,
  { local: { config, extensions }, mapping }: { local: Local; mapping: string | undefined },
): HookAuth | undefined {
  const { mappings, presets } = config.hooks
  const hasPath = ({ match }: Config['hooks']['mappings'][number]): boolean =>
    match?.path !== undefined && normalizeHookName(match.path) === name
  const found = mappings.find((one) => (mapping === undefined ? hasPath(one) : one.id === mapping))
  if (mapping !== undefined && !found) throw new CommandError(`There is no mapping with the id "${mapping}".`)
  if (found) return found.auth
  const { auth } = presets.includes(name) ? presetSection(config.hooks, name) : {}
  return auth && ({ ...extensions.presets.get(name)?.auth, ...auth } as HookAuth)
}

/** A token from the environment takes precedence for a gateway elsewhere, as for its other credential. */
function hookToken(
  { token }: TargetOptions,
  { hooks, isElsewhere }: { hooks: Config['hooks'] | undefined; isElsewhere: boolean },
): string {
  const variable = process.env['SVC_GATEWAY_HOOK_TOKEN']?.trim() || undefined
  const found = token ?? (isElsewhere ? (variable ?? hooks?.token) : (hooks?.token ?? variable))
  if (found !== undefined) return found
  throw new CommandError('There is no hook token; give it with --token, or set SVC_GATEWAY_HOOK_TOKEN.')
}
