// Checks heartbeats: interval, active hours, model and target.
import { agentIdsOf, defaultAgentId } from '../schema/agents.ts'
import { listChannelNames } from '../channels/names.ts'
import { parseDuration } from '../../kit/duration.ts'
import { suggest } from '../nearest.ts'
import { durations, timezoneSentence } from '../schema/formats.ts'
import { isTimezone } from '../timezone.ts'
import type { HeartbeatConfig } from '../schema/schema.ts'
import { type ModelKey, modelRules } from './models.ts'
import { recipientRules } from './recipients.ts'
import { replyWarnings } from './replies.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* heartbeatRules(
  heartbeat: Partial<HeartbeatConfig>,
  { keys, allowed }: ModelKey,
  context: RuleContext,
): Iterable<RuleFinding> {
  const { every, activeHours, model, target, to } = heartbeat
  if (every !== undefined && parseDuration(every) === undefined) {
    yield {
      keys: [...keys, 'every'],
      problem: durations.interval,
    }
  }
  if (activeHours) yield* activeHoursRules(activeHours, [...keys, 'activeHours'])
  if (model !== undefined) yield* modelRules(model, { keys: [...keys, 'model'], allowed }, context)
  if (target !== undefined) yield* targetRules(target, [...keys, 'target'], context)
  yield* recipientRules({ channel: target, to, keys: [...keys, 'to'] }, context)
}

function* activeHoursRules(
  { start, end, timezone }: NonNullable<HeartbeatConfig['activeHours']>,
  keys: readonly string[],
): Iterable<RuleFinding> {
  if (start === end)
    yield { keys: [...keys, 'end'], problem: 'must differ from the start; omit activeHours for the whole day' }
  yield* timezoneRules(timezone, [...keys, 'timezone'])
}

export function* timezoneRules(timezone: string | undefined, keys: readonly string[]): Iterable<RuleFinding> {
  if (timezone === undefined || isTimezone(timezone)) return
  yield { keys, code: 'time_zone_unknown', problem: timezoneSentence }
}

function* targetRules(target: string, keys: readonly string[], { extensions }: RuleContext): Iterable<RuleFinding> {
  const targets = ['none', 'last', ...listChannelNames(extensions.channels)]
  if (targets.includes(target)) return
  const loaded = `loaded are: ${targets.slice(2).join(', ') || 'none'}`
  yield {
    keys,
    problem: `must be "none", "last" or the name of a loaded channel; ${suggest(target, targets, loaded)}`,
  }
}

/** Checks the target of every agent with a heartbeat, and reports at the key that sets the target. */
export function* heartbeatReplyWarnings(context: RuleContext): Iterable<RuleFinding> {
  const { defaults, ...agents } = context.config.agents
  const defaultId = defaultAgentId(context.config.agents)
  for (const id of agentIdsOf(context.config.agents)) {
    const own = agents[id]?.heartbeat
    const { target, to } = { ...defaults.heartbeat, ...own }
    if (target === 'none' || (own === undefined && id !== defaultId)) continue
    const keys = ['agents', own?.target === undefined ? 'defaults' : id, 'heartbeat', 'target']
    const findings = replyWarnings({ channel: target, to, howToDisable: 'set target to "none"' }, context)
    for (const finding of findings) yield { ...finding, keys }
  }
}
