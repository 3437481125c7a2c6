// The entries of `hooks.mappings` and the sections of presets: what becomes of a webhook of one's own name.
import { annotationsOf, isTemplateField, overrideFields, type TemplateField, templateKeys } from '../../action.ts'
import { notBlank, type Static, type TSchema, Type } from '../../typebox.ts'
import { HookAuth } from './hook-auth.ts'
import { overridesOf } from './overrides.ts'

const Text = (description: string) => Type.Optional(Type.String({ pattern: notBlank, description }))

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
  if (isTemplateField(field)) return [templateKeys[field], Text(`${description} A template.`)]
  const note = value === undefined ? '' : ` Default: \`${String(value)}\`.`
  return [field, Type.Optional({ ...rest, description: `${description}${note}` })]
}

const { action, ...presetFieldKeys } = fieldKeys

/** The keys that a mapping and the section of a preset share. */
const sharedKeys = {
  ...presetFieldKeys,
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
    action,
    ...sharedKeys,
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
  { ...sharedKeys, auth: Type.Optional(overridesOf(HookAuth)) },
  { additionalProperties: false, description: 'Settings of the preset of this name, in place of its own.' },
)
export type PresetConfig = Static<typeof PresetSection>
