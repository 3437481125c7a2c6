// The preset for Discord's interactions: slash commands, buttons, menus and forms; one session per channel or thread.
import { clip, entryOf, lines, Maybe } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

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

export default definePreset<Payload>({
  name: 'discord-interactions',
  description: 'Commands, buttons and forms of a Discord application.',
  payload: Payload,
  mapping: { name: 'Discord' },
  auth: { scheme: 'discord' },
  deliveryId: ({ payload }) => payload.id,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

/** By the type of the interaction. Pings and text to complete are skipped. */
const eventHandlers: Readonly<Record<string, (data: Data) => string[]>> = {
  2: describeCommand,
  3: describeComponent,
  5: (data) => [`sent ${data.custom_id ? `the form "${data.custom_id}"` : 'a form'}`, ...fieldsOf(data.components, 0)],
}

function toAction({ payload }: PresetRequest<Payload>) {
  const { type, data, channel_id: channel, guild_id: guild, message } = payload
  const describe = entryOf(eventHandlers, String(type))
  if (!describe) return null
  if (!data) throw new InputError('data is required; it contains the command or the component.')
  const [head = '', ...details] = describe(data)
  const person = payload.member?.user ?? payload.user
  const who = payload.member?.nick || person?.global_name || person?.username || 'Somebody'
  const place = payload.channel?.name ? ` in #${payload.channel.name}` : ''
  const text = lines(
    `Discord: ${who} ${head}${place}`,
    ...details,
    channel && `https://discord.com/channels/${guild || '@me'}/${channel}${message?.id ? `/${message.id}` : ''}`,
    message?.content && `\nThe message with the component:\n${clip(message.content)}`,
  )
  return { message: text, sessionKey: `hook:discord-interactions:${channel || person?.id || 'application'}` }
}

// ── Commands ────────────────────────────────────────────────────────────────────────────────────

/** A slash command, or a command in the menu of a user or of a message. */
function describeCommand(data: Data): string[] {
  const { name, type, target_id: target, resolved } = data
  const command = name || 'a command'
  if (type === 2) return [`used "${command}" on ${nameOf(target, data) ?? 'a user'}`]
  if (type === 3) {
    const content = entryOf(resolved?.messages ?? {}, target)?.content
    return [`used "${command}" on a message`, ...(content ? [clip(content)] : [])]
  }
  const { path, values } = optionsOf(data.options, 0)
  return [
    ['used', `/${command}`, ...path].join(' '),
    ...values.map(({ name, value }) => `- ${name}: ${nameOf(value, data) ?? clip(value)}`),
  ]
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
  return found?.global_name || found?.username || found?.name || undefined
}

// ── Components ──────────────────────────────────────────────────────────────────────────────────

const button = 2

function describeComponent(data: Data): string[] {
  const { component_type: type, custom_id: id, values } = data
  if (type === button) return [`pressed ${id ? `the button "${id}"` : 'a button'}`]
  return [
    `chose from ${id ? `the menu "${id}"` : 'a menu'}`,
    ...textsOf(values).map((text) => `- ${nameOf(text, data) ?? clip(text)}`),
  ]
}

// ── Forms ───────────────────────────────────────────────────────────────────────────────────────

/** Rows, labels and sections hold components. */
const maxNesting = 4

function fieldsOf(components: readonly unknown[] | null | undefined, depth: number): string[] {
  if (depth > maxNesting) return []
  return (components ?? []).flatMap((component) => {
    const { custom_id: id, value, values, component: only, components: inner } = recordOf(component)
    const texts = textsOf([value, ...(Array.isArray(values) ? (values as unknown[]) : [])])
    const own =
      typeof id === 'string' && texts.length > 0 ? [`${id}: ${texts.map((text) => clip(text)).join(', ')}`] : []
    const below = [...(Array.isArray(inner) ? (inner as unknown[]) : []), ...(only === undefined ? [] : [only])]
    return own.concat(fieldsOf(below, depth + 1))
  })
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const textsOf = (values: readonly unknown[] | null | undefined): string[] =>
  (values ?? []).flatMap((value) =>
    ['string', 'number', 'boolean'].includes(typeof value) && value !== '' ? [String(value)] : [],
  )
