// The endpoints with which an operator tries hooks: the samples of presets, requests without a signature, and mappings
// that are not in the configuration yet.
import { GatewayError } from '../errors.ts'
import { requireContent } from '../http/access.ts'
import { failures } from '../http/failure.ts'
import type { AuditedChange, StoredRequest } from '../store/store.ts'
import { type Static, Type } from '../typebox.ts'
import { TextProblem } from './config.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { ReplayReply, SkippedBy } from './replay-reply.ts'

/** Shows what a mapping that is not in the configuration would make of a request. */
type PreviewMapping = (request: Static<typeof PreviewBody>) => Promise<object>

interface Samples {
  list(preset: string): Promise<readonly object[]>
  send(preset: string, sample: string, by: { client: string; audit: AuditedChange }): Promise<object>
}

/** Handles a request that an operator makes. */
type SendRequest = (
  request: Pick<StoredRequest, 'hook' | 'headers' | 'query' | 'body' | 'result'>,
  by: { client: string; body: unknown; checkAgent(agentId: string): void; audit: AuditedChange },
) => Promise<object>

interface CurlImport {
  mapping: object
  payload: unknown
  headers: Readonly<Record<string, string>>
  notes: readonly string[]
}

interface WorkbenchDeps {
  /** Undefined while the hooks are disabled. */
  samples?: Samples | undefined
  /** Undefined while the hooks are disabled. */
  previewMapping?: PreviewMapping | undefined
  /** Undefined while the hooks are disabled. */
  replay?: SendRequest | undefined
  importCurl?: ((command: string) => Promise<CurlImport>) | undefined
  /** The modules in the transforms directory. */
  listTransforms(): Promise<readonly string[]>
}

export function workbenchEndpoints(deps: WorkbenchDeps): Endpoint[] {
  const { previewMapping, replay, importCurl, listTransforms, samples } = deps
  return [
    endpoint({
      method: 'GET',
      path: '/api/presets/:name/samples',
      access: { needs: 'read', scope: 'gateway' },
      schema: {
        summary: 'Lists the samples of a preset.',
        params: PresetParams,
        response: { 200: SampleList, ...failures(404, 409) },
      },
      handle: async ({ params: { name } }) => ({ items: await enabled(samples).list(name) }),
    }),
    endpoint({
      method: 'POST',
      path: '/api/presets/:name/samples/:sample/send',
      access: { needs: 'operate', scope: 'gateway', action: 'sample.send' },
      schema: {
        summary: 'Sends a sample to the hook of its preset, without a signature.',
        params: SampleParams,
        response: { 200: ReplayReply, ...failures(404, 409) },
      },
      handle: async ({ params: { name, sample }, source, change }) => {
        const by = { client: source.address ?? '', audit: change(`${name}/${sample}`) }
        return await enabled(samples).send(name, sample, by)
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/hooks/:name/send',
      access: { needs: 'operate', scope: 'gateway', action: 'request.send' },
      schema: {
        summary: 'Sends a body to a hook, without a signature or a token of the hook.',
        params: HookParams,
        body: SendBody,
        response: { 200: ReplayReply, ...failures(409) },
      },
      handle: async ({ params: { name }, body, source, change }) => {
        const request = {
          hook: name,
          headers: { 'content-type': 'application/json' },
          query: {},
          body: null,
          result: {},
        }
        const by = { client: source.address ?? '', audit: change(name) }
        return await enabled(replay)(request, { ...by, body: body.body, checkAgent: () => {} })
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/hooks/preview',
      access: { needs: 'operate', scope: 'gateway' },
      schema: {
        summary: 'Shows what a mapping would make of a request. It starts nothing.',
        body: PreviewBody,
        response: { 200: PreviewReply, ...failures(409) },
      },
      handle: async ({ body, principal }) => {
        // It shows the events that wait in a session.
        requireContent(principal, 'a preview')
        return await enabled(previewMapping)(body)
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/hooks/import-curl',
      access: { needs: 'operate', scope: 'gateway' },
      schema: {
        summary: 'Makes a request and a mapping of the curl command with which a service shows its webhook.',
        body: CurlBody,
        response: { 200: CurlReply, ...failures(409) },
      },
      handle: async ({ body }) => ({ ok: true, ...(await enabled(importCurl)(body.command)) }),
    }),
    endpoint({
      method: 'GET',
      path: '/api/transforms',
      access: { needs: 'read', scope: 'gateway' },
      schema: { summary: 'Lists the modules in the transforms directory.', response: { 200: TransformList } },
      handle: async () => ({ items: (await listTransforms()).map((module) => ({ module })) }),
    }),
  ]
}

function enabled<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new GatewayError('conflict', 'The hooks are disabled; set hooks.enabled to use them.')
  return part
}

const HookParams = Type.Object({
  name: Type.String({ description: '`wake`, `agent`, or the name of a mapped hook.' }),
})
const SendBody = Type.Object({ body: Type.Unknown({ description: 'The JSON that a sender would send.' }) })

const PresetParams = Type.Object({ name: Type.String({ description: 'The name of the preset.' }) })
const SampleParams = Type.Object({ ...PresetParams.properties, sample: Type.String() })

const SampleList = Type.Object({
  items: Type.Array(
    Type.Object({
      name: Type.String({ description: 'What happened, such as `issue-opened`.' }),
      payload: Type.Unknown(),
      headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    }),
  ),
})

const PreviewBody = Type.Object({
  mapping: Type.String({
    description: 'The mapping as JSON5, as in `hooks.mappings`. Its `auth` and environment variables are not read.',
  }),
  body: Type.String({ description: 'The body of the request, as it is received.' }),
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  query: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())]), {
      description: 'The query parameters.',
    }),
  ),
  hook: Type.Optional(Type.String({ description: 'The name of the hook. Default: `match.path` of the mapping.' })),
})

const CurlBody = Type.Object({
  command: Type.String({
    maxLength: 65_536,
    description: 'The command, as the documentation of the service prints it. It reads no files.',
  }),
})

const CurlReply = Type.Object({
  ok: Type.Literal(true),
  mapping: Type.Object(
    { match: Type.Object({ path: Type.String() }), messageTemplate: Type.String() },
    {
      additionalProperties: true,
      description: 'The proposed mapping, as in `hooks.mappings`. It may have further keys.',
    },
  ),
  payload: Type.Unknown({ description: 'The payload, without credentials.' }),
  headers: Type.Record(Type.String(), Type.String(), { description: 'The headers that the mapping reads.' }),
  notes: Type.Array(Type.String(), { description: 'Sentences about the authentication, and what was left out.' }),
})

const TransformList = Type.Object({
  items: Type.Array(Type.Object({ module: Type.String({ description: 'As in `transform.module`.' }) })),
})

const PreviewReply = Type.Object({
  ok: Type.Literal(true),
  problems: Type.Array(TextProblem, { description: 'What must be corrected. The other fields are absent then.' }),
  warnings: Type.Array(TextProblem),
  isMatch: Type.Optional(Type.Boolean({ description: 'Whether the mapping matches the request.' })),
  unmet: Type.Optional(Type.Array(Type.String(), { description: 'The keys of `match` that do not hold.' })),
  actions: ReplayReply.properties.actions,
  skippedBy: Type.Optional(SkippedBy),
  heartbeat: ReplayReply.properties.heartbeat,
  transform: Type.Optional(
    Type.Object(
      {
        logs: Type.Array(Type.Object({ level: Type.String(), text: Type.String() })),
        ms: Type.Optional(Type.Number({ description: 'How long it ran. Absent: it failed.' })),
        result: Type.Optional(
          Type.Unknown({ description: 'What it returned; `null` skips the request. Absent: nothing, or it failed.' }),
        ),
      },
      { description: 'What the transform of the mapping did, if it was called.' },
    ),
  ),
  error: Type.Optional(
    Type.Object(
      {
        type: Type.String(),
        message: Type.String(),
        detail: Type.Optional(Type.String({ description: 'What the transform threw.' })),
      },
      { description: 'Why the hook would refuse the request.' },
    ),
  ),
})
