// The tool policy: who may use which tool, decided once for all subjects of one shape and looked up from then on.
import type { Config } from '../config/schema.ts'
import { dotted } from '../typebox.ts'
import type { ToolRegistry, RegisteredTool } from './registry.ts'
import { evaluatePolicy, type Decision, findRule, type Verdict } from './evaluate.ts'
import { findGroupPolicy } from './group.ts'
import { findUnmatchedNames } from './unmatched-names.ts'
import { hookAllow, resolveLayers, type Shape } from './layers.ts'
import { normalizeName, type PolicyTool } from './names.ts'
import type { Subject } from './subject.ts'

export interface Policy {
  /** Names are case-sensitive here: a tool is called by its very name. */
  allows(subject: Subject, tool: string): boolean
  /** What the subject may use, by name. */
  listed(subject: Subject): readonly RegisteredTool[]
  /** Why. A tool that is not there is denied by `catalogue`, and judged by its name alone. */
  explain(subject: Subject, tool: string): Decision
  /** The tool as the lists see it. */
  view(entry: RegisteredTool): PolicyTool
  /**
   * The name with which the operator has opened the tool to webhooks, for the caller and for all who stand behind it.
   */
  liftedBy(subject: Subject, entry: RegisteredTool): string | undefined
  /** Names in the policy's lists that mean no tool, a sentence each. */
  problems: readonly string[]
}

export interface PolicyDeps {
  config: Pick<Config, 'tools' | 'agents' | 'gateway' | 'channels'>
  registry: Pick<ToolRegistry, 'list' | 'find' | 'expected'>
  /** The model that an agent uses where nobody chose another, as `<provider>/<model>`. */
  modelOf: (agentId: string) => string
  /** Does a plugin that is not ours bring this toolset? */
  isForeign: (toolset: string) => boolean
}

/**
 * Shapes whose decisions are kept (agents × models × groups in use), and subjects that are known to have one of them;
 * with more of either all are looked at anew.
 */
const keptAtMost = 1000

export function createPolicy({ config, registry, modelOf, isForeign }: PolicyDeps): Policy {
  let ofShapes = new Map<string, Decided>()
  let ofSubjects = new Map<string, Decided>()
  let tools = registry.list()
  const viewOf = (entry: RegisteredTool): PolicyTool => ({
    name: entry.tool.name,
    group: entry.tool.group,
    toolset: entry.toolset,
    foreign: isForeign(entry.toolset),
    optIn: entry.tool.optIn === true,
  })

  const shapeOf = ({ caller, agentId, sessionKey, model, channel, accountId, fromHook = false }: Subject): Shape => ({
    caller,
    agentId,
    model: model ?? modelOf(agentId),
    group: findGroupPolicy(config.channels, { sessionKey, channel, accountId }),
    subagent: sessionKey.includes(':subagent:'),
    fromHook,
  })

  /** Of the caller, and of all who stand behind it: each can only narrow. */
  const decided = (subject: Subject): Decided => {
    const own = decidedAlone(subject)
    return (subject.initiators ?? []).reduce(
      (left, initiator) => intersect(left, decidedAlone({ ...initiator, fromHook: subject.fromHook })),
      own,
    )
  }

  const decidedAlone = (subject: Subject): Decided => {
    // Tools may come and go with a connection; the list is then another one.
    if (tools !== registry.list()) {
      tools = registry.list()
      ofShapes = new Map()
      ofSubjects = new Map()
    }
    const key = subjectKey(subject)
    const known = ofSubjects.get(key)
    if (known) return known
    if (ofSubjects.size >= keptAtMost) ofSubjects = new Map()
    const found = decidedFor(shapeOf(subject))
    ofSubjects.set(key, found)
    return found
  }

  const decidedFor = (shape: Shape): Decided => {
    const key = shapeKey(shape)
    const known = ofShapes.get(key)
    if (known) return known
    if (ofShapes.size >= keptAtMost) ofShapes = new Map()
    const fresh = decideAll(shape)
    ofShapes.set(key, fresh)
    return fresh
  }

  const decideAll = (shape: Shape): Decided => {
    const layers = resolveLayers(config, shape)
    const listed = tools.filter((entry) => evaluatePolicy(layers, viewOf(entry)).allowed)
    return { listed, names: new Set(listed.map(({ tool }) => tool.name)) }
  }

  return {
    allows: (subject, tool) => decided(subject).names.has(tool),
    listed: (subject) => decided(subject).listed,
    explain: (subject, tool) => {
      const entry = registry.find(tool)
      const decision = evaluatePolicy(resolveLayers(config, shapeOf(subject)), entry ? viewOf(entry) : { name: tool })
      return entry ? decision : { allowed: false, layers: [unknown, ...decision.layers] }
    },
    view: viewOf,
    liftedBy: (subject, entry) => {
      const rules = [subject, ...(subject.initiators ?? [])].map(({ agentId }) =>
        findRule(hookAllow(config, agentId), viewOf(entry)),
      )
      return rules.every((rule) => rule !== undefined) ? rules[0] : undefined
    },
    problems: findUnmatchedNames(config, { known: tools.map(viewOf), expected: registry.expected }).map(
      ({ keys, problem }) => `${dotted(keys)} ${problem}`,
    ),
  }
}

interface Decided {
  names: ReadonlySet<string>
  listed: readonly RegisteredTool[]
}

function intersect({ listed, names }: Decided, other: Decided): Decided {
  const both = listed.filter(({ tool }) => other.names.has(tool.name))
  return both.length === listed.length
    ? { listed, names }
    : { listed: both, names: new Set(both.map(({ tool }) => tool.name)) }
}

const unknown: Verdict = { layer: 'registry', verdict: 'deny', rule: 'no tool has this name' }

/**
 * All that a shape is made from. Some of it comes with a request and may hold anything: as JSON no two subjects share a
 * key.
 */
const subjectKey = ({ caller, agentId, sessionKey, model, channel, accountId, fromHook = false }: Subject): string =>
  JSON.stringify([caller, agentId, sessionKey, model, channel, accountId, fromHook])

/** No part of it holds a line end. */
const shapeKey = ({ caller, agentId, model, group, subagent, fromHook }: Shape): string =>
  `${caller}\n${fromHook ? 'hook' : ''}\n${subagent ? 'subagent' : ''}\n${agentId}\n${normalizeName(model)}\n${group?.path ?? ''}`
