// Reads only the address and credential from a configuration, for commands that call the running gateway. The rest may
// be invalid, and no plugin is loaded.
import { dotted, listProblems, Type } from '../typebox.ts'
import { ConfigError } from './config-error.ts'
import { fillDefaults } from './defaults.ts'
import type { ConfigDocument } from './file/read.ts'
import { type GatewayConfig, GatewaySection } from './schema/gateway.ts'
import { type Finding, resolveSecretFiles } from './file/secrets.ts'

export type GatewayAccess = Pick<GatewayConfig, 'port' | 'bind' | 'auth'>

const AccessSchema = Type.Object({ gateway: Type.Pick(GatewaySection, ['port', 'bind', 'auth'], { default: {} }) })

/** The address and credential of the gateway of this document. @throws {ConfigError} */
export function readGatewayAccess({ file, dir, value, layout, problems }: ConfigDocument): GatewayAccess {
  const { port, bind, auth } = Object(value['gateway']) as Record<string, unknown>
  const files = resolveSecretFiles({ gateway: { port, bind, auth } }, AccessSchema, dir)
  const filled = fillDefaults(AccessSchema, files.value) as { gateway: GatewayAccess }
  const unset = problems.filter(({ keys }) => keys[0] === 'gateway' && ['port', 'bind', 'auth'].includes(keys[1] ?? ''))
  const found: Finding[] = [...unset, ...files.problems, ...listProblems(AccessSchema, filled)]
  if (found.length === 0) return filled.gateway
  const located = found.map(({ keys, problem }) => Object.assign(layout.placeOf(keys), { path: dotted(keys), problem }))
  // Further problems of one key usually follow from the first.
  throw new ConfigError(
    file,
    located.filter((one, index) => located.findIndex(({ path }) => path === one.path) === index),
  )
}
