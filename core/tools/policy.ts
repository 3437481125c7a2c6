// The tool policy: evaluates who may use which tool, and explains why.
import type { Config } from '../config/schema.ts'
import { dotted } from '../typebox.ts'
import type { ToolRegistry, RegisteredTool } from './registry.ts'
import { evaluatePolicy, type Decision, findRule, type Layer, type Verdict } from './evaluate.ts'
import { findGroupPolicy } from './group.ts'
import { findUnmatchedNames } from './unmatched-names.ts'
import { hookAllow, resolveLayers } from './layers.ts'
import type { PolicyTool } from './names.ts'
import type { Subject } from './subject.ts'

export interface Policy {
  /** Tool names are case-sensitive here. */
  allows(subject: Subject, tool: string): boolean
  /** The tools that the subject may use, sorted by name. */
  listed(subject: Subject): readonly RegisteredTool[]
  /** What each layer says. An unknown tool is denied by the layer `registry`, and judged by its name alone. */
  explain(subject: Subject, tool: string): Decision
  /** The tool as policy lists see it. */
  view(entry: RegisteredTool): PolicyTool
  /**
   * The rule with which the operator has allowed the tool for webhook runs. Undefined unless it is allowed for the
   * subject and for all its initiators.
   */
  liftedBy(subject: Subject, entry: RegisteredTool): string | undefined
  /** One sentence for each name in a policy list that matches no tool. */
  problems: readonly string[]
}

export interface PolicyDeps {
  config: Pick<Config, 'tools' | 'agents' | 'gateway' | 'channels'>
  registry: Pick<ToolRegistry, 'list' | 'find' | 'expected'>
  /** The default model of an agent, as `<provider>/<model>`. */
  modelOf: (agentId: string) => string
  /** Whether a third-party plugin provides this toolset. */
  isForeign: (toolset: string) => boolean
}

export function createPolicy({ config, registry, modelOf, isForeign }: PolicyDeps): Policy {
  const viewOf = (entry: RegisteredTool): PolicyTool => ({
    name: entry.tool.name,
    group: entry.tool.group,
    toolset: entry.toolset,
    foreign: isForeign(entry.toolset),
    optIn: entry.tool.optIn === true,
  })

  const layersFor = ({ caller, agentId, sessionKey, model, channel, accountId, fromHook = false }: Subject): Layer[] =>
    resolveLayers(config, {
      caller,
      agentId,
      model: model ?? modelOf(agentId),
      group: findGroupPolicy(config.channels, { sessionKey, channel, accountId }),
      isSubagent: sessionKey.includes(':subagent:'),
      fromHook,
    })

  /** Every initiator of a run can only narrow what its subject may use. */
  const createFilter = (subject: Subject): ((entry: RegisteredTool) => boolean) => {
    const initiators = (subject.initiators ?? []).map((initiator) =>
      Object.assign({}, initiator, { fromHook: subject.fromHook }),
    )
    const layersOfAll = [subject, ...initiators].map(layersFor)
    return (entry) => layersOfAll.every((layers) => evaluatePolicy(layers, viewOf(entry)).allowed)
  }

  return {
    allows: (subject, tool) => {
      const entry = registry.find(tool)
      return entry !== undefined && createFilter(subject)(entry)
    },
    listed: (subject) => registry.list().filter(createFilter(subject)),
    explain: (subject, tool) => {
      const entry = registry.find(tool)
      const decision = evaluatePolicy(layersFor(subject), entry ? viewOf(entry) : { name: tool })
      return entry ? decision : { allowed: false, layers: [unknownTool, ...decision.layers] }
    },
    view: viewOf,
    liftedBy: (subject, entry) => {
      const rules = [subject, ...(subject.initiators ?? [])].map(({ agentId }) =>
        findRule(hookAllow(config, agentId), viewOf(entry)),
      )
      return rules.every((rule) => rule !== undefined) ? rules[0] : undefined
    },
    problems: findUnmatchedNames(config, {
      known: registry.list().map(viewOf),
      expected: registry.expected,
    }).map(({ keys, problem }) => `${dotted(keys)} ${problem}`),
  }
}

const unknownTool: Verdict = { layer: 'registry', verdict: 'deny', rule: 'no tool has this name' }
