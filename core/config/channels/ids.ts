// The ids of senders and groups that a configuration lists, in the form that the messages of the channel have.
import type { Channel, JsonSchema } from '../../plugin/plugin.ts'
import { listProblems } from '../../typebox.ts'
import type { AccountConfig, Config } from '../schema/schema.ts'

type IdChannel = Pick<Channel<never>, 'sender' | 'group' | 'normalizeId'>

/** The id as messages have it. `*` stands for all. */
export function normalizeId(channel: Pick<IdChannel, 'normalizeId'> | undefined, id: string): string {
  const trimmed = id.trim()
  return trimmed === '*' ? trimmed : (channel?.normalizeId?.(trimmed) ?? trimmed)
}

/** @returns the end of a sentence that begins with the place of the id, if no message can have it */
export function findIdProblem(channel: IdChannel, kind: 'sender' | 'group', id: string): string | undefined {
  const schema: JsonSchema | undefined = channel[kind]
  const normal = normalizeId(channel, id)
  if (!schema || normal === '*' || listProblems(schema, normal).length === 0) return undefined
  const { description } = schema as { description?: unknown }
  const expected = typeof description === 'string' ? `; use ${description.replace(/\.$/, '')}` : ''
  return `matches no ${kind} of the channel${expected}`
}

/** The sections of channels with normal ids. */
export const normalizeSections = (
  sections: Config['channels'],
  channels: ReadonlyMap<string, IdChannel>,
): Config['channels'] =>
  Object.fromEntries(
    Object.entries(sections).map(([name, section]) => {
      const channel = channels.get(name)
      const { accounts } = section
      const normal = { ...section, ...normalizeAccess(section, channel) }
      if (!accounts) return [name, normal]
      const own = Object.entries(accounts).map(([id, account]) => [
        id,
        { ...account, ...normalizeAccess(account, channel) },
      ])
      return [name, { ...normal, accounts: Object.fromEntries(own) as typeof accounts }]
    }),
  )

const normalizeAccess = (
  { allowFrom, groups }: AccountConfig,
  channel: IdChannel | undefined,
): Pick<AccountConfig, 'allowFrom' | 'groups'> => ({
  ...(allowFrom && { allowFrom: allowFrom.map((id) => normalizeId(channel, id)) }),
  ...(groups && {
    groups: Object.fromEntries(Object.entries(groups).map(([id, group]) => [normalizeId(channel, id), group])),
  }),
})
