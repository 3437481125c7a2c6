// The section `gateway` alone, for commands that talk to the running gateway: nothing else need be right, and no plugin
// is loaded.
import { dotted, listProblems, Type } from '../typebox.ts'
import { ConfigError } from './config-error.ts'
import { fillDefaults } from './defaults.ts'
import type { ConfigDocument } from './file/read.ts'
import { type GatewayConfig, GatewaySection } from './schema/gateway.ts'
import { type Finding, resolveSecretFiles } from './file/secrets.ts'

export type Reach = Pick<GatewayConfig, 'port' | 'bind' | 'auth'>

const Reached = Type.Object({ gateway: Type.Pick(GatewaySection, ['port', 'bind', 'auth'], { default: {} }) })

/** Where the gateway of this document listens, and who may use it. @throws {ConfigError} */
export function readReach({ file, dir, value, layout, problems }: ConfigDocument): Reach {
  const { port, bind, auth } = Object(value['gateway']) as Record<string, unknown>
  const files = resolveSecretFiles({ gateway: { port, bind, auth } }, Reached, dir)
  const filled = fillDefaults(Reached, files.value) as { gateway: Reach }
  const unset = problems.filter(({ keys }) => keys[0] === 'gateway' && ['port', 'bind', 'auth'].includes(keys[1] ?? ''))
  const found: Finding[] = [...unset, ...files.problems, ...listProblems(Reached, filled)]
  if (found.length === 0) return filled.gateway
  const told = found.map(({ keys, problem }) => ({ path: dotted(keys), line: layout.lineOf(keys), problem }))
  // Of several about one key the others follow from the first.
  throw new ConfigError(
    file,
    told.filter((one, index) => told.findIndex(({ path }) => path === one.path) === index),
  )
}
