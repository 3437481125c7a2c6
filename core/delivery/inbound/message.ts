// Checks what a channel passes to `receive`, so that a mistake in a plugin is reported where it is made.
import { InputError, type InboundMessage, type JsonSchema } from '../../plugin/plugin.ts'
import { hasHiddenCharacters } from '../../kit/text.ts'
import { listProblems, notBlank, Type } from '../../typebox.ts'
import { wellFormed } from '../../well-formed.ts'

const NonEmpty = Type.String({ pattern: notBlank, description: 'a non-empty string' })
const Text = Type.String({ description: 'a string' })

const Attachments = Type.Array(
  Type.Object(
    { name: Text, type: Text, size: Type.Optional(Type.Number({ minimum: 0, description: 'a number of bytes' })) },
    { description: 'an object with name and type' },
  ),
  { description: 'a list' },
)

/** Each description completes the sentence "<field> must be …". */
const Message = Type.Object(
  {
    id: NonEmpty,
    from: Type.Object(
      {
        id: NonEmpty,
        otherIds: Type.Optional(Type.Array(NonEmpty, { description: 'a list of ids' })),
        name: Type.Optional(Text),
      },
      { description: 'an object with the id of the sender' },
    ),
    to: NonEmpty,
    text: Text,
    threadId: Type.Optional(NonEmpty),
    group: Type.Optional(Type.Enum(['group', 'channel'], { description: '"group", "channel" or absent' })),
    mentioned: Type.Optional(Type.Boolean({ description: 'true or false' })),
    attachments: Type.Optional(Attachments),
    quoted: Type.Optional(
      Type.Object(
        {
          id: Type.Optional(NonEmpty),
          from: Type.Optional(
            Type.Object({ id: Type.Optional(NonEmpty), name: Type.Optional(Text) }, { description: 'an object' }),
          ),
          isOwn: Type.Optional(Type.Boolean({ description: 'true or false' })),
          text: Type.Optional(Text),
          attachments: Type.Optional(Attachments),
        },
        { description: 'an object' },
      ),
    ),
    forwardedFrom: Type.Optional(Type.Object({ name: Type.Optional(Text) }, { description: 'an object' })),
  },
  { description: 'an object' },
)

/** Throws an `InputError` that says what was expected. Text becomes well-formed. */
export function readInboundMessage(received: unknown): InboundMessage {
  const [problem] = listProblems(Message, received)
  if (problem) throw new InputError(explain(problem.keys))
  const message = received as InboundMessage
  assertReadable('attachments', message.attachments)
  assertReadable('quoted.attachments', message.quoted?.attachments)
  assertShownSafely(message)
  if (!isJson(message.route)) throw new InputError('receive: route must be a value that JSON can hold.')
  return wellFormed({ ...message, text: message.mentioned ? withoutMark(message.text) : message.text })
}

const maxIdLength = 1000

/** Ids become session keys, and are shown in lists, logs and prompts. */
function assertShownSafely({ id, from, to, quoted }: InboundMessage): void {
  const ids = { id, 'from.id': from.id, to, 'quoted.id': quoted?.id, 'quoted.from.id': quoted?.from?.id }
  const others = (from.otherIds ?? []).map((other, index) => [`from.otherIds[${index}]`, other] as const)
  const isUnsafe = (value = ''): boolean => value.length > maxIdLength || hasHiddenCharacters(value)
  const [field] = [...Object.entries(ids), ...others].find(([, value]) => isUnsafe(value)) ?? []
  if (field !== undefined)
    throw new InputError(
      `receive: ${field} must be one line of at most ${maxIdLength} characters, without control or direction characters.`,
    )
}

function assertReadable(field: string, attachments: InboundMessage['attachments'] = []): void {
  const index = attachments.findIndex(({ read }) => !['undefined', 'function'].includes(typeof read))
  if (index !== -1) throw new InputError(`receive: ${field}[${index}].read must be a function.`)
}

/** People write `@name, hello` and `@name: /new`, and channels remove only the mention. */
const withoutMark = (text: string): string => text.replace(/^\s*[,:](?:\s+|$)/, '').trimStart()

function isJson(value: unknown): boolean {
  try {
    return value === undefined || JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

function explain(keys: readonly string[]): string {
  const path = keys.reduce((before, key) => (/^\d+$/.test(key) ? `${before}[${key}]` : `${before}.${key}`), '')
  return `receive: ${path.slice(1) || 'the message'} must be ${expectation(keys)}.`
}

function expectation(keys: readonly string[]): string {
  let schema: JsonSchema = Message
  for (const key of keys) {
    const { properties, items } = schema as { properties?: Record<string, JsonSchema>; items?: JsonSchema }
    schema = properties?.[key] ?? items ?? {}
  }
  return String((schema as { description?: unknown }).description)
}
