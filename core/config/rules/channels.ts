// Checks channels and providers: required settings of accounts, and names of providers.
import { listProblems } from '../../typebox.ts'
import { resolveAccounts } from '../accounts.ts'
import { type Access, admitsStrangers, allowsEverybody, isWildcard, resolveAccess } from '../channels/access.ts'
import { findIdProblem, normalizeId } from '../channels/ids.ts'
import { providerNamePattern } from '../schema/extensions.ts'
import { agentIdsOf, defaultAgentId } from '../schema/agents.ts'
import type { Channel } from '../../plugin/plugin.ts'
import { suggest } from '../nearest.ts'
import type { AccountConfig, ChannelConfig, Config } from '../schema/schema.ts'
import { recipientRules } from './recipients.ts'
import { at, type RuleContext, type RuleFinding } from './rule.ts'

export function* channelRules(context: RuleContext): Iterable<RuleFinding> {
  const { config, extensions } = context
  for (const [name, section] of Object.entries(config.channels)) {
    const channel = extensions.channels.get(name)
    if (!channel || !section.enabled) continue
    yield* defaultToRules(name, section, context)
    yield* strangerRules(name, section, config)
    const parts: [string[], AccountConfig][] = [
      [['channels', name], section],
      ...Object.entries(section.accounts ?? {}).map(([id, account]): [string[], AccountConfig] => [
        ['channels', name, 'accounts', id],
        account,
      ]),
    ]
    for (const [keys, part] of parts) {
      yield* agentRules(part, { keys, config })
      yield* idRules(part, { keys, channel })
    }
    for (const { id, settings } of resolveAccounts(section, channel.config)) {
      const keysOfEntry = ['channels', name, ...(section.accounts ? ['accounts', id] : [])]
      yield* at(keysOfEntry, listProblems(channel.config, settings))
    }
  }
  yield* Object.keys(config.providers)
    .filter((name) => !providerName.test(name))
    .map((name) => ({
      keys: ['providers', name],
      problem: 'is not a valid provider name; it must not be blank, contain "/" or have surrounding spaces',
    }))
}

const providerName = new RegExp(providerNamePattern, 'u')

/** Says for each account, or for the channel if it has none, what strangers may do there. */
function* strangerRules(name: string, section: ChannelConfig, config: Config): Iterable<RuleFinding> {
  for (const id of Object.keys(section.accounts ?? { default: {} })) {
    const access = resolveAccess(section, id)
    if (!admitsStrangers(access)) continue
    const own = section.accounts?.[id]
    const warn = (key: 'dmPolicy' | 'allowFrom' | 'directSession' | 'groups', problem: string): RuleFinding => ({
      keys: ['channels', name, ...(own?.[key] === undefined ? [] : ['accounts', id]), key],
      code: 'strangers_admitted',
      problem,
      warning: true,
    })
    const { dmPolicy, allowFrom, directSession, groups } = access
    if (directSession === 'shared') yield warn('directSession', sharedSession)
    else yield warn(dmPolicy === 'open' ? 'dmPolicy' : 'allowFrom', separateSessions)
    const lifted = findLifted(access, config)
    if (lifted !== undefined) yield warn(dmPolicy === 'open' ? 'dmPolicy' : 'allowFrom', describeLifted(lifted))
    const named = Object.entries(groups ?? {}).filter(([group]) => !isWildcard(group))
    const open = named.filter(([, { allow, tools }]) => allow !== false && !tools).map(([group]) => `"${group}"`)
    if (open.length > 0 && allowsEverybody(allowFrom)) yield warn('groups', describeOpenGroups(open))
  }
}

/** The list that allows tools to webhooks, and so to the strangers who write to the same agent. */
function findLifted({ agentId }: Access, { agents, tools }: Config): string | undefined {
  const id = agentId?.trim().toLowerCase() ?? defaultAgentId(agents)
  const { allow } = agents[id]?.tools?.byOrigin?.hook ?? {}
  if (allow) return allow.length > 0 ? `agents.${id}.tools.byOrigin.hook.allow` : undefined
  return tools.byOrigin?.hook?.allow?.length ? 'tools.byOrigin.hook.allow' : undefined
}

const describeLifted = (list: string): string =>
  `lets strangers use the tools in ${list} without the rule of two; set agentId to an agent without this list`

const sharedSession =
  'is "shared", and strangers may write: they read and steer the conversation of the main session, and get the ' +
  'replies to "last"; set "main" to give each of them a session of its own'

const separateSessions =
  'lets strangers write to the agent. Each has a session of its own with the tools of a webhook, at your expense; ' +
  'list the senders that you know in allowFrom, use dmPolicy "pairing", or limit strangers with tools.byOrigin.hook ' +
  'and a budget of the channel'

const describeOpenGroups = (groups: readonly string[]): string =>
  `lists ${groups.join(', ')}, where strangers may use every tool of the agent, because allowFrom has "*"; ` +
  'set tools of these groups, or list the senders that you know in allowFrom'

function* defaultToRules(name: string, section: ChannelConfig, context: RuleContext): Iterable<RuleFinding> {
  const keys = ['channels', name]
  yield* recipientRules({ channel: name, to: section.defaultTo, keys: [...keys, 'defaultTo'] }, context)
  for (const [id, { defaultTo: to }] of Object.entries(section.accounts ?? {}))
    yield* recipientRules({ channel: name, to, keys: [...keys, 'accounts', id, 'defaultTo'] }, context)
}

/** An id that no message can have is a mistake: somebody may not write after all, or a group is not limited. */
function* idRules(
  { allowFrom = [], groups = {} }: AccountConfig,
  { keys, channel }: { keys: readonly string[]; channel: Channel<never> },
): Iterable<RuleFinding> {
  // Invalid entries have left holes, which `flatMap` skips.
  yield* allowFrom.flatMap((id, index): RuleFinding[] => {
    const problem = findIdProblem(channel, 'sender', id)
    return problem ? [{ keys: [...keys, 'allowFrom', String(index)], problem, warning: true }] : []
  })
  const known = new Map<string, string>()
  for (const id of Object.keys(groups)) {
    const problem = findIdProblem(channel, 'group', id)
    if (problem) yield { keys: [...keys, 'groups', id], problem, warning: true }
    const normal = normalizeId(channel, id).toLowerCase()
    const same = known.get(normal)
    if (same !== undefined)
      yield { keys: [...keys, 'groups', id], problem: `is the same group as ${same}; keep one of the two` }
    known.set(normal, id)
  }
}

/** A message must not reach another agent than the one that the operator has chosen for its sender. */
function* agentRules(
  { agentId, groups = {} }: AccountConfig,
  { keys, config }: { keys: readonly string[] } & Pick<RuleContext, 'config'>,
): Iterable<RuleFinding> {
  const ids = agentIdsOf(config.agents)
  const named = [
    { id: agentId, at: ['agentId'] },
    ...Object.entries(groups).map(([group, { agentId: id }]) => ({ id, at: ['groups', group, 'agentId'] })),
  ]
  for (const { id, at } of named)
    if (id !== undefined && !ids.includes(id.trim().toLowerCase()))
      yield { keys: [...keys, ...at], problem: `is not an agent; ${suggest(id, ids, `use one of ${ids.join(', ')}`)}` }
}
