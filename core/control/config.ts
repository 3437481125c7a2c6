// The endpoints for the configuration: the current one without its secrets and the warnings about it, its schema, and the
// file for administrators.
import type { ConfigProblem, ProblemCode } from '../config/config-error.ts'
import { redactConfig } from '../config/redaction.ts'
import { type Config, type ConfigurableExtensions, createConfigSchema } from '../config/schema/schema.ts'
import { failures } from '../http/failure.ts'
import { type Static, Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'

interface CheckedText {
  problems: readonly Static<typeof TextProblem>[]
  warnings: readonly Static<typeof TextProblem>[]
  changed: readonly string[]
  restartFor: readonly string[]
}

export interface ConfigFile {
  /** @throws `conflict` if the file cannot be read, or if the configuration does not come from a file */
  read(): { file: string; text: string; etag: string; isWritable: boolean }
  check(text: string): Promise<CheckedText>
  /** Applies edits to a text. Nothing is saved. */
  edit(text: string, edits: readonly { path: readonly string[]; value?: unknown; before?: boolean }[]): string
  /**
   * Saves a valid text, and applies it.
   * @throws `invalid_request` if the text is not valid, `precondition_failed` if the entity tag is no longer that of the
   *   file, and `conflict` if the file cannot be written
   */
  save(
    text: string,
    etag: string,
  ): Promise<{ etag: string; changed: readonly string[]; restartFor: readonly string[]; notApplied?: string }>
}

interface ConfigDeps {
  config: Config
  extensions: ConfigurableExtensions
  configFile: ConfigFile
  warnings(): readonly ConfigProblem[]
}

/** The file may contain secrets, so that only administrators of the whole gateway may read it. */
const fileAccess = { needs: 'admin', scope: 'gateway' } as const

export function configEndpoints({ config, extensions, configFile, warnings }: ConfigDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/api/config',
      access: { needs: 'read', scope: 'gateway' },
      schema: { summary: 'Returns the current configuration without its secrets.', response: { 200: RedactedConfig } },
      handle: async () => redactConfig(config, createConfigSchema(extensions, config)),
    }),
    endpoint({
      method: 'GET',
      path: '/api/config/warnings',
      access: { needs: 'read', scope: 'gateway' },
      schema: {
        summary: 'Lists what `svc-gateway check` warns about in the current configuration.',
        response: { 200: WarningList },
      },
      handle: async () => ({
        items: warnings().map(({ code, path, line, problem }) => ({ code, path, line, problem })),
      }),
    }),
    endpoint({
      method: 'GET',
      path: '/api/config/schema',
      access: { needs: 'read', scope: 'gateway' },
      schema: {
        summary: 'Returns the JSON Schema of the configuration file, with the sections of the loaded extensions.',
        response: { 200: ConfigSchema },
      },
      handle: async () => {
        const { createJsonSchema } = await import('../config/schema/json-schema.ts')
        return createJsonSchema(extensions)
      },
    }),
    endpoint({
      method: 'GET',
      path: '/api/config/file',
      access: { ...fileAccess, action: 'config.read', recordsAfter: true },
      schema: {
        summary: 'Returns the configuration file as it is, with its secrets.',
        response: { 200: StoredText, ...failures(409) },
      },
      headersOf: etagOf,
      handle: async () => ({ ok: true, ...configFile.read() }),
    }),
    endpoint({
      method: 'POST',
      path: '/api/config/check',
      access: fileAccess,
      schema: {
        summary: 'Checks a text as the configuration, without saving it.',
        body: TextBody,
        response: { 200: CheckReply },
      },
      handle: async ({ body: { text } }) => ({ ok: true, ...(await configFile.check(text)) }),
    }),
    endpoint({
      method: 'POST',
      path: '/api/config/edit',
      access: fileAccess,
      schema: {
        summary: 'Changes keys in a text, and keeps its comments. Nothing is saved.',
        body: EditBody,
        response: { 200: EditReply },
      },
      handle: async ({ body: { text, edits } }) => ({ ok: true, text: configFile.edit(text, edits) }),
    }),
    endpoint({
      method: 'POST',
      path: '/api/config/file',
      access: { ...fileAccess, action: 'config.save', recordsAfter: true },
      schema: {
        summary: 'Saves a text as the configuration file, and applies it.',
        headers: IfMatch,
        body: TextBody,
        response: { 200: SaveReply, ...failures(409, 412) },
      },
      headersOf: etagOf,
      handle: async ({ body: { text }, headers }) => ({
        ok: true,
        ...(await configFile.save(text, headers['if-match'])),
      }),
    }),
  ]
}

const Warning = Type.Object({
  code: Type.Optional(
    Type.Unsafe<ProblemCode>({ type: 'string', description: 'Names the kind of the problem, for programs.' }),
  ),
  path: Type.String({ description: 'The key; empty for the file as a whole.' }),
  line: Type.Optional(Type.Integer({ minimum: 1, description: 'The line of the file, from 1.' })),
  problem: Type.String({ description: 'What is wrong and how to fix it, as the end of a sentence about the key.' }),
})

const WarningList = Type.Object({
  items: Type.Array(Warning, { description: 'Empty for the first moments after a start or a reload.' }),
})

const etagOf = (reply: unknown): Record<string, string> => ({ etag: (reply as { etag: string }).etag })

const RedactedConfig = Type.Unsafe<object>({
  type: 'object',
  description: 'The configuration with its defaults. Every secret is `[redacted]`.',
})

const ConfigSchema = Type.Unsafe<object>({
  type: 'object',
  description: 'JSON Schema, draft 2020-12. `secret: true` marks the keys whose values are secrets.',
})

const Etag = Type.String({ description: 'The entity tag of the file, which is also the header `ETag`.' })

const StoredText = Type.Object({
  ok: Type.Literal(true),
  file: Type.String({ description: 'The path of the file.' }),
  text: Type.String({ description: 'The content of the file.' }),
  etag: Etag,
  isWritable: Type.Boolean({ description: 'Whether the gateway may replace the file.' }),
})

const TextBody = Type.Object({ text: Type.String({ description: 'The content of the file, as JSON5.' }) })

/** A problem of a text, which is the file or one mapping. */
export const TextProblem = Type.Object({
  ...Warning.properties,
  id: Type.Optional(Type.String({ description: 'The id of the mapping that the key belongs to.' })),
  column: Type.Optional(Type.Integer({ minimum: 1, description: 'The column of the line, from 1.' })),
})

const Changed = Type.Array(Type.String(), {
  description: 'The keys that differ from the file. Empty if the file is not valid JSON5.',
})
const RestartFor = Type.Array(Type.String(), {
  description: 'The keys whose values differ from those in use, and take effect at the next start.',
})

const CheckReply = Type.Object({
  ok: Type.Literal(true),
  problems: Type.Array(TextProblem, { description: 'What must be corrected. Empty: the text is valid.' }),
  warnings: Type.Array(TextProblem),
  changed: Changed,
  restartFor: RestartFor,
})

const EditBody = Type.Object({
  ...TextBody.properties,
  edits: Type.Array(
    Type.Object({
      path: Type.Array(Type.String(), {
        minItems: 1,
        maxItems: 32,
        description: 'The keys from the root, such as `["hooks", "mappings", "-"]`. A last key `-` adds to a list.',
      }),
      value: Type.Optional(Type.Unknown({ description: 'The new value. Absent: the key is removed.' })),
      before: Type.Optional(
        Type.Boolean({
          description: 'True: the value is added to a list before the item at `path`, instead of replacing it.',
        }),
      ),
    }),
    { minItems: 1, maxItems: 100, description: 'They are applied in order.' },
  ),
})

const EditReply = Type.Object({
  ok: Type.Literal(true),
  text: Type.String({ description: 'The text with the edits.' }),
})

const IfMatch = Type.Object({
  'if-match': Type.String({ minLength: 1, description: 'The `ETag` of the file that the text is based on.' }),
})

const SaveReply = Type.Object({
  ok: Type.Literal(true),
  etag: Etag,
  changed: Changed,
  restartFor: RestartFor,
  notApplied: Type.Optional(
    Type.String({ description: 'Why the file is saved but not in effect: the gateway continues with the old one.' }),
  ),
})
