// The key `auth` of a mapping or preset: how senders of a webhook authenticate. Each scheme adds its own keys.
import type { Scheme } from '../../plugin/plugin.ts'
import { OptionalFlag, OptionalText, Text } from '../../field-schemas.ts'
import { type Static, type TSchema, Type } from '../../typebox.ts'
import { Time } from './formats.ts'

const Secret = (description: string) => Text(description, { secret: true })

const DatedSecret = Type.Object(
  {
    secret: Secret('The secret.'),
    notAfter: Time('When it expires, such as `2030-01-31T00:00:00Z`.'),
  },
  { additionalProperties: false },
)

/** What the header of a verification request must be. */
export const headerSentence = 'must be a header of the service whose name begins with "x-", such as "x-hook-secret"'

const Handshake = Type.Object(
  {
    query: OptionalText('A GET is answered with the value of this query parameter, as text.'),
    header: Type.Optional(
      Type.String({
        pattern: String.raw`^[xX]-[\w-]+$`,
        errorMessage: headerSentence,
        description: 'A POST with this header is answered with the same header, and starts nothing.',
      }),
    ),
    head: OptionalFlag('`true`: HEAD is answered with 200.'),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    description: 'The verification requests with which the service checks the address.',
  },
)

const CommonAuth = Type.Object(
  {
    scheme: Text('How the sender authenticates: the name of a scheme.'),
    secret: Type.Optional(Secret('The secret that the sender signs with or sends, or its public key.')),
    secrets: Type.Optional(
      Type.Array(Type.Union([Secret('A secret.'), DatedSecret]), {
        minItems: 1,
        description: 'Several valid secrets, for rotation.',
      }),
    ),
    toleranceSeconds: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 86_400,
        description: 'How far a signed timestamp may differ, in seconds. Default: that of the scheme, mostly 300.',
      }),
    ),
    url: Type.Optional(
      Type.String({
        pattern: String.raw`^https?://[^\s/]`,
        errorMessage: 'must be a complete URL that starts with https://',
        description:
          'If the signature covers the URL: the complete URL that the sender calls. Default: below gateway.publicUrl.',
      }),
    ),
    handshake: Type.Optional(Handshake),
  },
  { description: 'How the sender authenticates, instead of the hook token.' },
)
export type HookAuth = Static<typeof CommonAuth> & { [key: string]: unknown }

/** The key `auth` as far as it does not depend on the schemes. */
export const HookAuth = Type.Unsafe<HookAuth>(CommonAuth)

/** The keys that no scheme may declare. */
export const commonAuthKeys = Object.keys(CommonAuth.properties)

/** The key `auth` with the keys of all schemes. The rules check which of them the named scheme has. */
export function hookAuthSchema(schemes: ReadonlyMap<string, Scheme<never>>) {
  return Type.Unsafe<HookAuth>({
    ...CommonAuth,
    additionalProperties: false,
    properties: { ...keysOfSchemes(schemes), ...CommonAuth.properties },
  })
}

interface Described {
  description?: string
  default?: unknown
  secret?: boolean
}

function keysOfSchemes(schemes: ReadonlyMap<string, Scheme<never>>): Record<string, TSchema> {
  const byKey = new Map<string, { names: string[]; schemas: Described[] }>()
  for (const [name, { config }] of schemes)
    for (const [key, schema] of Object.entries((config as { properties?: object } | undefined)?.properties ?? {})) {
      const found = byKey.get(key) ?? { names: [], schemas: [] }
      byKey.set(key, { names: [...found.names, name], schemas: [...found.schemas, schema as Described] })
    }
  return Object.fromEntries(Array.from(byKey, ([key, { names, schemas }]) => [key, keySchema(names, schemas)]))
}

/** Schemes that share a key may declare it differently. The rules check it against the schema of the named scheme. */
function keySchema(names: readonly string[], schemas: readonly Described[]): TSchema {
  const [{ description = 'a setting of the scheme.', default: fallback, ...type } = {}, ...others] = schemas
  const text = `For ${names.join(' and ')}: ${description}`
  const isSame = others.every(({ description: _other, default: _ignored, ...one }) => isEqual(one, type))
  return Type.Optional(
    Type.Unsafe({
      ...(isSame ? type : { secret: schemas.some(({ secret }) => secret) }),
      ...(fallback !== undefined && others.length === 0 && { fallback }),
      description: text,
    }),
  )
}

const isEqual = (one: object, other: object): boolean => JSON.stringify(one) === JSON.stringify(other)
