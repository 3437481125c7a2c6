// The list of hooks for `GET /api/hooks`: the mappings of each name, their credentials and their transforms.
import type { TransformState } from '../sandbox/transform.ts'
import type { Mapping } from './mapping.ts'
import type { Mappings } from './mappings.ts'
import type { SecretStatus } from './auth/secret-use.ts'

export interface HookLine {
  /** Absent: every name without a line of its own. */
  name?: string
  /** In the order in which they are tried. Empty: the gateway itself serves the name. */
  mappings: readonly MappingLine[]
}

export interface MappingLine {
  id: string
  source?: string | undefined
  scheme: string
  /** Absent: senders show the hook token. */
  secrets?: readonly SecretStatus[] | undefined
  transform?: TransformState | undefined
}

export async function viewHooks(mappings: Mappings): Promise<HookLine[]> {
  const names = ['wake', 'agent', ...mappings.names]
  const lines = await Promise.all(
    names.map(async (name) => ({
      name,
      mappings: await Promise.all(mappings.routeFor(name).mappings.map(viewMapping)),
    })),
  )
  const others = mappings.fallback.mappings
  return others.length === 0 ? lines : [...lines, { mappings: await Promise.all(others.map(viewMapping)) }]
}

const viewMapping = async ({ id, source, verifier, secrets, transform }: Mapping): Promise<MappingLine> => ({
  id,
  source,
  scheme: verifier?.scheme ?? 'hook-token',
  secrets: await secrets?.list(),
  transform: transform?.(),
})
