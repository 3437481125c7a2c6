// The preset for Discord's interactions: slash commands, buttons, menus and forms; one session per channel or thread.
import { entryOf, eventMessage, line, listAnswers, Maybe, quote } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'
import { scheme } from './scheme.ts'

const Text = Maybe(Type.String())
const User = Maybe(Type.Object({ id: Text, username: Text, global_name: Text }))
const Named = Maybe(Type.Record(Type.String(), Type.Object({ name: Text, username: Text, global_name: Text })))

const Payload = Type.Object({
  id: Type.String({ minLength: 1 }),
  type: Type.Number(),
  guild_id: Text,
  channel_id: Text,
  channel: Maybe(Type.Object({ name: Text })),
  user: User,
  member: Maybe(Type.Object({ nick: Text, user: User })),
  message: Maybe(Type.Object({ id: Text, content: Text })),
  data: Maybe(
    Type.Object({
      name: Text,
      type: Maybe(Type.Number()),
      target_id: Text,
      options: Maybe(Type.Array(Type.Unknown())),
      custom_id: Text,
      component_type: Maybe(Type.Number()),
      values: Maybe(Type.Array(Type.Unknown())),
      components: Maybe(Type.Array(Type.Unknown())),
      resolved: Maybe(
        Type.Object({
          users: Named,
          roles: Named,
          channels: Named,
          messages: Maybe(Type.Record(Type.String(), Type.Object({ content: Text }))),
        }),
      ),
    }),
  ),
})
type Payload = Static<typeof Payload>
type Data = NonNullable<Payload['data']>

const preset = definePreset<Payload>({
  name: 'discord-interactions',
  description: 'Commands, buttons and forms of a Discord application.',
  payload: Payload,
  mapping: { name: 'Discord' },
  auth: { scheme: 'discord' },
  deliveryId: ({ payload }) => payload.id,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

interface EventParts {
  head: string
  details?: readonly string[]
  answers?: readonly (readonly [name: string, answer: string])[]
  text?: string | null | undefined
}

/** By the type of the interaction. Pings and text to complete are skipped. */
const eventHandlers: Readonly<Record<string, (data: Data) => EventParts>> = {
  2: describeCommand,
  3: describeComponent,
  5: ({ custom_id: id, components }) => ({
    head: id ? `sent the form ${quote(id, 100)}` : 'sent a form',
    answers: fieldsOf(components, 0),
  }),
}

function toAction({ payload }: PresetRequest<Payload>) {
  const { type, data, channel_id: channel, guild_id: guild, message } = payload
  const describe = entryOf(eventHandlers, String(type))
  if (!describe) return null
  if (!data) throw new InputError('data is required; it contains the command or the component.')
  const { head, details = [], answers = [], text } = describe(data)
  const person = payload.member?.user ?? payload.user
  const who = [payload.member?.nick, person?.global_name, person?.username].map((name) => line(name, 100)).find(Boolean)
  const written = listAnswers(answers)
  const place = line(payload.channel?.name, 100)
  const ids = [guild || '@me', channel, message?.id].filter(Boolean).map((id) => line(id, 100))
  return {
    message: eventMessage(
      'Discord',
      {
        head: `${who ?? 'Somebody'} ${head}`,
        place: place && `#${place}`,
        details: [...details, ...written.details],
        link: channel && `https://discord.com/channels/${ids.join('/')}`,
        text: [written.text, text, message?.content && `The message with the component:\n${message.content}`]
          .filter(Boolean)
          .join('\n\n'),
      },
      12_000,
    ),
    sessionKey: `hook:discord-interactions:${line(channel || person?.id, 200) || 'application'}`,
  }
}

// ── Commands ────────────────────────────────────────────────────────────────────────────────────

/** A slash command, or a command in the menu of a user or of a message. */
function describeCommand(data: Data): EventParts {
  const { name, type, target_id: target, resolved } = data
  const command = line(name, 100) || 'a command'
  if (type === 2) return { head: `used "${command}" on ${nameOf(target, data) ?? 'a user'}` }
  if (type === 3) {
    const content = entryOf(resolved?.messages ?? {}, target)?.content
    return { head: `used "${command}" on a message`, text: content }
  }
  const { path, values } = optionsOf(data.options, 0)
  return {
    head: ['used', `/${command}`, ...path.map((part) => line(part, 50))].join(' '),
    answers: values.map(({ name, value }) => [`- ${name}`, nameOf(value, data) ?? value]),
  }
}

interface Options {
  /** The names of the group and of the subcommand. */
  path: string[]
  values: { name: string; value: string }[]
}

/** A command holds options, a subcommand, or a group that holds a subcommand. */
const maxDepth = 2

function optionsOf(options: readonly unknown[] | null | undefined, depth: number): Options {
  const result: Options = { path: [], values: [] }
  for (const option of options ?? []) {
    const { name, value, options: inner } = recordOf(option)
    if (typeof name !== 'string' || name === '') continue
    const [text] = textsOf([value])
    if (text !== undefined) result.values.push({ name, value: text })
    else if (depth < maxDepth) {
      const { path, values } = optionsOf(Array.isArray(inner) ? inner : [], depth + 1)
      result.path.push(name, ...path)
      result.values.push(...values)
    }
  }
  return result
}

/** The name of a user, a role or a channel that the command mentions by its id. */
function nameOf(id: string | null | undefined, { resolved }: Data): string | undefined {
  const { users, roles, channels } = resolved ?? {}
  const found = [users, roles, channels].map((named) => entryOf(named ?? {}, id)).find(Boolean)
  return line(found?.global_name || found?.username || found?.name, 100) || undefined
}

// ── Components ──────────────────────────────────────────────────────────────────────────────────

const button = 2

function describeComponent(data: Data): EventParts {
  const { component_type: type, custom_id: id, values } = data
  if (type === button) return { head: `pressed ${id ? `the button ${quote(id, 100)}` : 'a button'}` }
  return {
    head: `chose from ${id ? `the menu ${quote(id, 100)}` : 'a menu'}`,
    details: textsOf(values).map((text) => `- ${nameOf(text, data) ?? text}`),
  }
}

// ── Forms ───────────────────────────────────────────────────────────────────────────────────────

/** Rows, labels and sections hold components. */
const maxNesting = 4

function fieldsOf(components: readonly unknown[] | null | undefined, depth: number): [string, string][] {
  if (depth > maxNesting) return []
  return (components ?? []).flatMap((component): [string, string][] => {
    const { custom_id: id, value, values, component: only, components: inner } = recordOf(component)
    const texts = textsOf([value, ...(Array.isArray(values) ? (values as unknown[]) : [])])
    const below = [...(Array.isArray(inner) ? (inner as unknown[]) : []), ...(only === undefined ? [] : [only])]
    const own: [string, string][] = typeof id === 'string' && texts.length > 0 ? [[id, texts.join(', ')]] : []
    return own.concat(fieldsOf(below, depth + 1))
  })
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const textsOf = (values: readonly unknown[] | null | undefined): string[] =>
  (values ?? []).flatMap((value) =>
    ['string', 'number', 'bigint', 'boolean'].includes(typeof value) && value !== '' ? [String(value)] : [],
  )
