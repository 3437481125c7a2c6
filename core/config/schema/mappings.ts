// The entries of `hooks.mappings` and the sections of presets: how webhooks become actions.
import {
  annotationsOf,
  isTemplateField,
  overrideFields,
  type TemplateField,
  templateKeys,
  thinkingLevels,
} from '../../action.ts'
import { OptionalFlag, OptionalText, Text, Texts } from '../../field-schemas.ts'
import { type Static, type TSchema, Type } from '../../typebox.ts'
import { budgetKey } from './budget.ts'
import { Conditions, Skip } from './conditions.ts'
import { HookAuth } from './hook-auth.ts'
import { overridesOf } from './overrides.ts'

const Match = Type.Object(
  {
    path: OptionalText('Name of the hook: the part of the URL after `hooks.path`. Default: any name.'),
    source: OptionalText('Required value of the field `source` of the payload. Default: any value.'),
    ...Conditions.properties,
  },
  {
    additionalProperties: false,
    description: 'The requests that the mapping matches. All of its conditions must hold.',
  },
)

const TransformEntry = Type.Object(
  {
    module: Text('The file, relative to the transforms directory.'),
    export: OptionalText('The exported function. Default: the default export.'),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 60_000,
        fallback: 1000,
        description: 'Time limit of one call, in milliseconds. Default: 1000.',
      }),
    ),
  },
  { additionalProperties: false, description: 'Code that computes the action.' },
)

const MappingRateLimit = Type.Object(
  {
    maxPerMinute: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Maximum number of requests in one minute. Each gateway on a shared store counts its own.',
    }),
  },
  { additionalProperties: false, description: 'Rate limit of the mapping; further requests get 429.' },
)

type OverrideField = keyof typeof overrideFields

/** The keys of a mapping that set the fields of its actions. */
type FieldKeys = {
  [Field in OverrideField as Field extends TemplateField ? (typeof templateKeys)[Field] : Field]: Type.TOptional<
    Field extends TemplateField ? Type.TString : (typeof overrideFields)[Field]
  >
}

const fieldKeys = Object.fromEntries(Object.entries(overrideFields).map(fieldKeyOf)) as unknown as FieldKeys

/** Without a default: an absent key must not replace what a transform or a preset says. */
function fieldKeyOf([field, schema]: [string, TSchema]): [string, TSchema] {
  const { default: value, description, ...rest } = annotationsOf(schema)
  const note = value === undefined ? '' : ` Default: \`${String(value)}\`.`
  const shown = value !== undefined && { fallback: value }
  if (field === 'thinking') return [field, Type.Optional(ThinkingTemplate(`${description} A template.`))]
  if (isTemplateField(field))
    return [
      templateKeys[field],
      Type.Optional(Text(`${description} A template.${note}`, shown as { fallback?: string })),
    ]
  return [field, Type.Optional({ ...rest, ...shown, description: `${description}${note}` })]
}

function ThinkingTemplate(description: string) {
  return Type.String({
    pattern: String.raw`^(?:${thinkingLevels.join('|')})$|\{\{`,
    errorMessage: `must be one of ${thinkingLevels.map((level) => `"${level}"`).join(', ')}, or a template`,
    description,
  })
}

const { action, ...presetFieldKeys } = fieldKeys

const replyToSenderText =
  '`true`: a sender that waits (`Prefer: wait`) gets the reply also if the run has read private data. Otherwise the ' +
  'reply counts as sent outward, and the rule of two applies to it.'

/** The keys that a mapping and the section of a preset share. */
const sharedKeys = {
  ...presetFieldKeys,
  skip: Type.Optional(Skip),
  allowUnsafeExternalContent: OptionalFlag('`true` shows the text to the model without the external content wrapper.'),
  replyToSender: OptionalFlag(replyToSenderText),
  keepBody: OptionalFlag('Whether the bodies of its requests are stored. Default: `hooks.keepBody`.'),
  concurrency: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: 'Maximum number of its runs in progress at once; further runs wait.',
    }),
  ),
  rateLimit: Type.Optional(MappingRateLimit),
  budget: budgetKey('its runs'),
}

export const Mapping = Type.Object(
  {
    id: OptionalText('Name of the mapping in the log and for replays.'),
    match: Type.Optional(Match),
    action,
    ...sharedKeys,
    body: Type.Optional(
      Type.Literal('text', {
        description:
          'The hook also accepts a body that is neither JSON nor a form, such as plain text, XML or NDJSON. ' +
          'The payload is then { text }. Default: such a body gets 400, unless it is JSON.',
      }),
    ),
    jsonFields: Type.Optional(
      Texts('Fields of a form that hold JSON text, such as `payload`: the mapping reads them as JSON.', {
        minItems: 1,
      }),
    ),
    forEach: OptionalText(
      'Path to a list in the payload, such as `payload.items`: one action for each element, at most 200.',
    ),
    transform: Type.Optional(TransformEntry),
    auth: Type.Optional(HookAuth),
  },
  { additionalProperties: false, description: 'One rule that turns a webhook into actions.' },
)
export type MappingConfig = Static<typeof Mapping>

/** The section `hooks.<preset>`; its keys take precedence over the preset. */
export const PresetSection = Type.Object(
  { ...sharedKeys, auth: Type.Optional(overridesOf(HookAuth)) },
  { additionalProperties: false, description: 'Settings of the preset of this name.' },
)
export type PresetConfig = Static<typeof PresetSection>
