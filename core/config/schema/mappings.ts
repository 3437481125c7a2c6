// The entries of `hooks.mappings` and the sections of presets: what becomes of a webhook of one's own name.
import { notBlank, type Static, Type } from '../../typebox.ts'
import { HookAuth } from './hook-auth.ts'
import { overridesOf } from './overrides.ts'

/** Channels that may be named wherever the gateway runs, whether or not a plugin for them is loaded. */
export const promisedChannels = [
  'whatsapp',
  'telegram',
  'discord',
  'slack',
  'mattermost',
  'signal',
  'imessage',
  'msteams',
] as const

/** What `last` means while the main session has no route. */
export const fallbackChannel = 'whatsapp'

const Text = (description: string) => Type.Optional(Type.String({ pattern: notBlank, description }))
const Template = (description: string) => Text(`${description} A template.`)

const Match = Type.Object(
  {
    path: Text('The name of the hook: what follows hooks.path in the URL. Left out: any name.'),
    source: Text('What the field `source` of the payload must be. Left out: anything.'),
  },
  { additionalProperties: false, description: 'Which requests it is for; both must hold where both are given.' },
)

const TransformEntry = Type.Object(
  {
    module: Type.String({ pattern: notBlank, description: 'The file, as seen from the transforms directory.' }),
    export: Text('The function of the file; its default export if left out.'),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 60_000,
        description: 'How long it may take, in milliseconds; 1000 if left out.',
      }),
    ),
  },
  { additionalProperties: false, description: 'Code that shapes the action.' },
)

const MappingRateLimit = Type.Object(
  {
    maxPerMinute: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Requests that are taken within one minute.',
    }),
  },
  { additionalProperties: false, description: 'How many requests it takes; the others are answered 429.' },
)

/** What a mapping says of its actions; the section of a preset may say it too. */
const actionKeys = {
  wakeMode: Type.Optional(
    Type.Enum(['now', 'next-heartbeat'], { description: 'Whether the heartbeat follows at once; `now` if left out.' }),
  ),
  name: Template('Name of the hook in summaries.'),
  agentId: Text('The agent that runs it; of a wake, the agent that gets the event and is woken.'),
  sessionKey: Template('The session that it runs in; of a wake, the session that the event waits in.'),
  messageTemplate: Template('What the agent is asked.'),
  textTemplate: Template('The line of news of a wake.'),
  deliver: Type.Optional(Type.Boolean({ description: 'Whether the reply is delivered; true if left out.' })),
  channel: Text('Channel for the reply; `last` if left out.'),
  to: Template('Recipient on the channel.'),
  accountId: Text('Account of the channel that sends the reply.'),
  threadId: Text('Thread that the reply goes to.'),
  model: Template('The model: `<provider>/<model>` or an alias.'),
  thinking: Template('The thinking level.'),
  timeoutSeconds: Type.Optional(
    Type.Number({ exclusiveMinimum: 0, maximum: 86_400, description: 'Longest duration of a run, in seconds.' }),
  ),
  idempotencyKey: Template(
    'The id that the sender assigned to the request; what comes twice with the same id is taken once.',
  ),
  allowUnsafeExternalContent: Type.Optional(
    Type.Boolean({ description: 'True: the text is shown to the model without the external content wrapper.' }),
  ),
  keepBody: Type.Optional(
    Type.Boolean({ description: 'Whether the bodies of its requests are kept; as `hooks.keepBody` says if left out.' }),
  ),
  concurrency: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: 'How many of its runs are under way at once; the others wait.',
    }),
  ),
  rateLimit: Type.Optional(MappingRateLimit),
}

export const Mapping = Type.Object(
  {
    id: Text('Its name in the log, and for repeating deliveries.'),
    match: Type.Optional(Match),
    action: Type.Optional(
      Type.Enum(['wake', 'agent'], { description: 'What the webhook becomes; `agent` if left out.' }),
    ),
    ...actionKeys,
    forEach: Text(
      'Path to a list in the payload, such as `payload.items`: one action for each of its elements, 200 at most.',
    ),
    transform: Type.Optional(TransformEntry),
    auth: Type.Optional(HookAuth),
  },
  { additionalProperties: false, description: 'One rule from a payload to an action.' },
)
export type MappingConfig = Static<typeof Mapping>

/** The section `hooks.<preset>`, which goes before what the preset itself says. */
export const PresetSection = Type.Object(
  { ...actionKeys, auth: Type.Optional(overridesOf(HookAuth)) },
  { additionalProperties: false, description: 'Settings of the preset of this name, in place of its own.' },
)
export type PresetConfig = Static<typeof PresetSection>
