// The rules of `hooks.mappings`: each mapping can be reached, its keys have an effect, and its transform is inside the
// transforms directory.
import { join, relative, resolve } from 'node:path'
import { isTemplateField, overrideFields, promisedChannels, templateKeys } from '../../action.ts'
import { agentIdsOf, defaultAgentId } from '../schema/agents.ts'
import { listChannelNames } from '../channels/names.ts'
import { isHookName, normalizeHookName } from '../hooks-path.ts'
import { suggest } from '../nearest.ts'
import { confine, PathError } from '../file/paths.ts'
import type { Config, MappingConfig } from '../schema/schema.ts'
import { compilePath, findTemplateProblems, isTemplate } from '../template/template.ts'
import { conditionRules, skipRules } from './conditions.ts'
import { authContextOf, hookAuthRules } from './hook-auth.ts'
import { modelRules } from './models.ts'
import { recipientRules } from './recipients.ts'
import { replyWarnings } from './replies.ts'
import { unreachedWarnings } from './unreached.ts'
import { at, type RuleContext, type RuleFinding } from './rule.ts'

export function* mappingRules(context: RuleContext): Iterable<RuleFinding> {
  const { hooks } = context.config
  yield* transformsDirRules(context)
  yield* takenIds(hooks)
  yield* unreachedWarnings(context)
  // Entries that the schema rejected left holes in the array, which `flatMap` skips.
  yield* hooks.mappings.flatMap((mapping, index) => at(['hooks', 'mappings', String(index)], rulesOf(mapping, context)))
}

/** The findings about one mapping, whatever the others are. */
export const findMappingProblems = (mapping: MappingConfig, context: RuleContext): RuleFinding[] =>
  Array.from(rulesOf(mapping, context))

function* rulesOf(mapping: MappingConfig, context: RuleContext): Iterable<RuleFinding> {
  yield* matchRules(mapping)
  yield* forEachRules(mapping)
  yield* textWarnings(mapping)
  if (mapping.auth) yield* at(['auth'], hookAuthRules(mapping.auth, authContextOf(mapping.match?.path ?? '', context)))
  if (mapping.transform) yield* moduleRules(mapping.transform.module, context)
  yield* actionRules(mapping, context)
  // A transform may name another channel, so without a `channel` in the mapping there is nothing to check.
  if (!mapping.transform || mapping.channel !== undefined) yield* replyWarnings(mapping, context)
  yield* wakeWarnings(mapping, context)
}

/** The rules of the keys that a mapping and the section of a preset share. */
export function* actionRules(mapping: MappingConfig, context: RuleContext): Iterable<RuleFinding> {
  yield* templateRules(mapping)
  if (mapping.skip) yield* at(['skip'], skipRules(mapping.skip, mapping.forEach))
  yield* channelRules(mapping, context)
  yield* recipientRules({ channel: mapping.channel, to: mapping.to, keys: ['to'] }, context)
  yield* valueRules(mapping, context)
  yield* routingWarnings(mapping, context)
  if (mapping.allowUnsafeExternalContent) {
    const problem =
      'shows the text of the sender to the model without the external content wrapper; ' +
      'use it only for senders that you fully trust'
    yield { keys: ['allowUnsafeExternalContent'], problem, warning: true }
  }
}

function* matchRules({ match = {}, auth }: MappingConfig): Iterable<RuleFinding> {
  const name = match.path === undefined ? undefined : normalizeHookName(match.path)
  if (name === '') yield { keys: ['match', 'path'], problem: 'must be the name of a hook, such as "github"' }
  if (name && !isHookName(name)) {
    const problem =
      'contains white space, or a segment that is empty, "." or "..", so no request reaches the mapping; ' +
      'use a name such as "ci/nightly"'
    yield { keys: ['match', 'path'], code: 'mapping_unreached', problem, warning: true }
  }
  if (name === 'wake' || name === 'agent') {
    yield {
      keys: ['match', 'path'],
      code: 'mapping_unreached',
      problem: `is "${name}", which the gateway serves itself, so no request reaches the mapping; use another name`,
      warning: true,
    }
  }
  if (auth && name === undefined)
    yield { keys: ['auth'], problem: 'requires match.path, because the name decides which signature is verified' }
  yield* at(['match'], conditionRules(match))
  if (!auth && Object.keys(match).length === 0) {
    yield {
      keys: ['match'],
      problem:
        'has neither path nor source nor another condition, so the mapping matches every request that no earlier ' +
        'mapping matches',
      warning: true,
    }
  }
}

function* forEachRules({ forEach, transform }: MappingConfig): Iterable<RuleFinding> {
  if (forEach === undefined) return
  if (!compilePath(forEach))
    yield { keys: ['forEach'], problem: 'must be a path without braces, such as "payload.items"' }
  if (transform)
    yield {
      keys: ['forEach'],
      problem: 'cannot be combined with transform; let the transform return a list, or remove one of the two',
    }
}

/** Without a text, every request gets 400. A transform may return one. */
export function* textWarnings({
  action = 'agent',
  messageTemplate,
  textTemplate,
  transform,
}: MappingConfig): Iterable<RuleFinding> {
  const [own, other, otherAction] =
    action === 'agent'
      ? (['messageTemplate', 'textTemplate', 'wake'] as const)
      : (['textTemplate', 'messageTemplate', 'agent'] as const)
  const texts = { messageTemplate, textTemplate }
  if (transform || texts[own] !== undefined) return
  if (texts[other] === undefined) {
    yield {
      keys: [],
      problem: `has neither ${own} nor transform, so its requests get 400; add ${own}`,
      warning: true,
    }
    return
  }
  const problem =
    `is not used by the action "${action}", so its requests get 400; ` +
    `rename it to ${own}, or set action to "${otherAction}"`
  yield { keys: [other], problem, warning: true }
}

/** Text fields that are used as written. */
const plainTextKeys = Object.entries(overrideFields)
  .filter(([field, schema]) => 'type' in schema && schema.type === 'string' && !isTemplateField(field))
  .map(([field]) => field as 'agentId' | 'channel' | 'accountId' | 'threadId')

/** The problems of the templates of a mapping, and plain text that looks like one. */
export function* templateRules(mapping: MappingConfig): Iterable<RuleFinding> {
  for (const key of Object.values(templateKeys))
    for (const finding of findTemplateProblems(mapping[key] ?? '')) yield { keys: [key], ...finding }
  for (const key of plainTextKeys)
    if (isTemplate(mapping[key] ?? ''))
      yield { keys: [key], problem: 'is used as written: {{ … }} has no meaning here' }
}

function* channelRules({ channel }: MappingConfig, { extensions }: RuleContext): Iterable<RuleFinding> {
  if (channel === undefined || isTemplate(channel)) return
  const names = ['last', ...promisedChannels, ...listChannelNames(extensions.channels)]
  if (names.includes(channel.trim())) return
  const fix = suggest(channel, names, `use one of ${[...new Set(names)].join(', ')}`)
  yield { keys: ['channel'], problem: `is not a channel; ${fix}` }
}

/** A wrong `model` is a warning, because its agent may still be changed. */
function* valueRules(mapping: MappingConfig, context: RuleContext): Iterable<RuleFinding> {
  const { model, agentId } = mapping
  if (model === undefined || isTemplate(model)) return
  const { agents } = context.config
  const agent = agentId === undefined ? undefined : agents[agentId.trim().toLowerCase()]
  const allowed = agent?.models ?? agents.defaults.models
  const findings = modelRules(model.trim(), { keys: ['model'], allowed }, context)
  for (const finding of findings) yield { ...finding, warning: true }
}

function* routingWarnings(
  { agentId, sessionKey }: MappingConfig,
  { config: { hooks, agents } }: RuleContext,
): Iterable<RuleFinding> {
  const prefixes = hooks.allowedSessionKeyPrefixes
  if (agentId !== undefined) yield* agentWarnings(agentId, { hooks, agents })
  if (sessionKey === undefined) return
  const known =
    agentIdsOf(agents).find((id) => agentId !== undefined && id === normalize(agentId)) ?? defaultAgentId(agents)
  if (normalize(sessionKey).startsWith('agent:') && !normalize(sessionKey).startsWith(`agent:${known}:`)) {
    const problem = `is a session of another agent than "${known}", so its requests are rejected; set agentId`
    yield { keys: ['sessionKey'], problem, warning: true }
  }
  if (!hooks.allowRequestSessionKey) yield* sessionKeyWarnings({ sessionKey })
  const beginning = normalize(sessionKey.split('{{', 1)[0] as string)
  if (
    prefixes &&
    !prefixes.some(
      (prefix) =>
        beginning.startsWith(normalize(prefix)) || (isTemplate(sessionKey) && normalize(prefix).startsWith(beginning)),
    )
  ) {
    yield {
      keys: ['sessionKey'],
      problem: 'begins with none of hooks.allowedSessionKeyPrefixes, so its requests are rejected',
      warning: true,
    }
  }
}

/** Unless `hooks.allowRequestSessionKey` is set. */
export function* sessionKeyWarnings({ sessionKey = '' }: MappingConfig): Iterable<RuleFinding> {
  if (!isTemplate(sessionKey) || sessionKey.trim().startsWith('hook:')) return
  yield {
    keys: ['sessionKey'],
    problem: 'lets the payload choose any session, so its requests are rejected; begin it with "hook:"',
    warning: true,
  }
}

const normalize = (text: string): string => text.trim().toLowerCase()

function* agentWarnings(
  agentId: string,
  { hooks, agents }: Pick<RuleContext['config'], 'hooks' | 'agents'>,
): Iterable<RuleFinding> {
  const [ids, allowed] = [agentIdsOf(agents), hooks.allowedAgentIds]
  if (allowed && !allowed.includes('*') && !allowed.some((id) => normalize(id) === normalize(agentId))) {
    yield {
      keys: ['agentId'],
      problem: 'is not one of hooks.allowedAgentIds, so its requests are rejected; add it to that list',
      warning: true,
    }
  } else if (!isTemplate(agentId) && !ids.includes(normalize(agentId))) {
    const fix = suggest(agentId, ids, `add agents.${normalize(agentId)}, or leave it out`)
    yield {
      keys: ['agentId'],
      problem: `names no configured agent, so the default agent "${defaultAgentId(agents)}" is used; ${fix}`,
      warning: true,
    }
  }
}

/** An event with `next-heartbeat` waits until the next turn of its session when the agent has no heartbeat. */
function* wakeWarnings(
  { action, wakeMode, agentId }: MappingConfig,
  { config: { agents } }: RuleContext,
): Iterable<RuleFinding> {
  if (action !== 'wake' || wakeMode !== 'next-heartbeat' || agentId === undefined) return
  const id = normalize(agentId)
  if (!agents[id] || id === defaultAgentId(agents) || agents[id].heartbeat) return
  const problem =
    `waits for a heartbeat that agents.${id} does not have, so the agent reads the event in its next turn; ` +
    `set agents.${id}.heartbeat, or wakeMode: "now"`
  yield { keys: ['wakeMode'], problem, warning: true }
}

/** Presets have their names as ids. Limits, budgets and replays find a mapping by its id. */
function* takenIds({ mappings, presets }: Pick<Config['hooks'], 'mappings' | 'presets'>): Iterable<RuleFinding> {
  const seen = new Set<string>()
  for (const [index, mapping] of mappings.entries()) {
    const { id } = (mapping as MappingConfig | undefined) ?? {}
    if (id === undefined) continue
    if (seen.has(id))
      yield {
        keys: ['hooks', 'mappings', String(index), 'id'],
        problem: 'is the id of an earlier mapping; use another id',
      }
    if (presets.includes(id))
      yield {
        keys: ['hooks', 'mappings', String(index), 'id'],
        problem: 'is the name of an enabled preset; use another id',
      }
    seen.add(id)
  }
}

// ── The transforms directory ────────────────────────────────────────────────────────────────────────

const rootOf = (dir: string): string => join(dir, 'transforms')

function* transformsDirRules({ config, dir }: RuleContext): Iterable<RuleFinding> {
  const problem = escapeOf(rootOf(dir), resolve(dir, config.hooks.transformsDir))
  if (problem)
    yield { keys: ['hooks', 'transformsDir'], problem: `${problem}; use a folder inside it, or leave the key out` }
}

/** A module may be missing, because it can be added later; it must not be outside the folder. */
function* moduleRules(module: string, { config, dir }: RuleContext): Iterable<RuleFinding> {
  const folder = resolve(dir, config.hooks.transformsDir)
  // When the folder itself is outside, only that problem is reported.
  const problem = escapeOf(rootOf(dir), folder) === undefined ? problemOf(() => confine(folder, module)) : undefined
  if (problem) yield { keys: ['transform', 'module'], problem: `cannot be used: ${problem}` }
}

function escapeOf(root: string, folder: string): string | undefined {
  const path = relative(root, folder)
  if (/^\.\.(?:[\\/]|$)/.test(path)) return `resolves to ${folder}, which is outside ${root}`
  return problemOf(() => confine(root, path || '.'))
}

function problemOf(check: () => string): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (!(error instanceof PathError)) throw error
    return error.missing ? undefined : error.message
  }
}
