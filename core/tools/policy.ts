// The tool policy: evaluates who may use which tool, and explains why.
import type { Config } from '../config/schema/schema.ts'
import { dotted } from '../typebox.ts'
import type { ToolRegistry, RegisteredTool } from './registry.ts'
import { decide, evaluatePolicy, type Decision, findRule, type Verdict } from './evaluate.ts'
import { findGroupPolicy } from './group.ts'
import { findUnmatchedNames } from './unmatched-names.ts'
import { areDescriptions, areOwnDescriptions } from './descriptions.ts'
import { describeNarrowing } from './narrow.ts'
import { beyondRuleOfTwo, hookAllow, resolveLayers, type Shape } from './layers.ts'
import { matches, type PolicyTool } from './names.ts'
import type { Narrowing, Subject } from './subject.ts'

export interface Policy {
  /** Tool names are case-sensitive here. A tool that does not exist is denied. */
  judge(subject: Subject, tool: string): Judgement
  /** The tools that the subject may use, if only once a person has approved the call, sorted by name. */
  listed(subject: Subject): readonly RegisteredTool[]
  /** What each layer says. An unknown tool is denied by the layer `registry`, and judged by its name alone. */
  explain(subject: Subject, tool: string): Decision
  /** The tool as policy lists see it. */
  view(entry: RegisteredTool): PolicyTool
  /** What happens to a call that the rule of two does not permit. It is denied unless all initiators may ask, too. */
  beyondRuleOfTwo(subject: Subject): 'deny' | 'ask'
  /**
   * The rule with which the operator has allowed the tool for webhook runs. Undefined unless it is allowed for the
   * subject and for all its initiators.
   */
  liftedBy(subject: Subject, entry: RegisteredTool): string | undefined
  /** Whether the operator trusts what the tool says (`tools.trusted`). */
  isTrusted(entry: RegisteredTool): boolean
  /** One sentence for each name in a policy list that matches no tool. */
  problems: readonly string[]
}

export interface PolicyDeps {
  config: Pick<Config, 'tools' | 'agents' | 'gateway' | 'channels'>
  registry: Pick<ToolRegistry, 'list' | 'find' | 'expected'>
  /** The default model of an agent, as `<provider>/<model>`. */
  modelOf: (agentId: string) => string
  /** The name of a channel, of which an alias may be given. */
  channelName: (called: string) => string
  /** Whether a third-party plugin provides this toolset. */
  isForeign: (toolset: string) => boolean
}

export function createPolicy({ config, registry, modelOf, channelName, isForeign }: PolicyDeps): Policy {
  const memo = new Map<string, AllowedTools>()
  let tools = registry.list()
  const viewOf = (entry: RegisteredTool): PolicyTool => ({
    name: entry.tool.name,
    declaredName: entry.declaredName,
    group: entry.tool.group,
    toolset: entry.toolset,
    foreign: isForeign(entry.toolset),
    optIn: entry.tool.optIn === true,
  })

  const shapeOf = ({
    caller,
    agentId,
    sessionKey,
    model,
    channel,
    accountId,
    client,
    fromHook = false,
  }: Subject): Shape => ({
    caller,
    agentId,
    model: model ?? modelOf(agentId),
    group: findGroupPolicy({ channels: config.channels, channelName }, { sessionKey, channel, accountId }),
    isSubagent: sessionKey.includes(':subagent:'),
    fromHook,
    client,
  })

  /** Memoized by subject: evaluating the layers for each call would cost 10 % of the CPU time of a tool call. */
  const evaluateAll = (subject: Subject): AllowedTools => {
    const key = keyOf(subject)
    // Tools come and go with connections, and the registry then has another list.
    if (tools !== registry.list() || memo.size >= maxMemoized) memo.clear()
    tools = registry.list()
    const known = memo.get(key)
    if (known) return known
    const layers = resolveLayers(config, shapeOf(subject))
    const allowed: AllowedTools = new Map()
    for (const entry of tools) {
      const { verdict, rule } = evaluatePolicy(layers, viewOf(entry))
      if (verdict !== 'deny') allowed.set(entry.tool.name, { verdict, rule })
    }
    memo.set(key, allowed)
    return allowed
  }

  /** Every initiator of a run can only narrow what its subject may use. */
  const evaluateInitiators = ({ initiators = [], fromHook }: Subject): AllowedTools[] =>
    initiators.map((initiator) => evaluateAll({ ...initiator, fromHook }))

  /**
   * What each author of a text that the turn sees may use, and what a webhook's run may if it sees text from outside.
   * @param isDescribed for a tool whose own descriptions are the only text from outside
   */
  const evaluateNarrowing = (subject: Subject, isDescribed = false): AllowedTools[] => {
    const { narrowing, initiators = [], isLifted } = subject
    if (!narrowing || isLifted) return []
    const fromHook = narrowing.outside.length > 0 && !isDescribed
    const readers = fromHook && !subject.fromHook ? [subject, ...initiators] : []
    return [...readers, ...narrowing.authors].map((one) => evaluateAll({ ...one, fromHook }))
  }

  const isDescribed = ({ narrowing, fromHook }: Subject, entry: RegisteredTool | undefined): boolean =>
    entry !== undefined && !fromHook && areOwnDescriptions(narrowing?.outside ?? [], entry)

  const judge = (subject: Subject, tool: string): Judgement => {
    const own = evaluateAll(subject).get(tool)
    if (!own) return { verdict: 'deny', rule: explain(subject, tool).rule }
    const initiators = evaluateInitiators(subject).map((allowed) => allowed.get(tool))
    if (initiators.some((judgement) => !judgement))
      return { verdict: 'deny', rule: 'denied to the session that started the run' }
    const narrowed = evaluateNarrowing(subject, isDescribed(subject, registry.find(tool)))
    const texts = narrowed.map((allowed) => allowed.get(tool))
    if (texts.some((judgement) => !judgement)) return judgeNarrowed(subject.narrowing as Narrowing)
    const asking = [own, ...initiators, ...texts].find((judgement) => judgement?.verdict === 'ask')
    return asking ?? own
  }

  const explain = (subject: Subject, tool: string): Decision => {
    const entry = registry.find(tool)
    const decision = evaluatePolicy(resolveLayers(config, shapeOf(subject)), entry ? viewOf(entry) : { name: tool })
    return entry ? decision : decide([unknownTool, ...decision.layers])
  }

  return {
    judge,
    listed: (subject) => {
      const isNarrowed = subject.narrowing?.mode === 'deny'
      const texts = isNarrowed ? evaluateNarrowing(subject) : []
      // Only descriptions leave their service its own tools.
      const others =
        isNarrowed && areDescriptions(subject.narrowing?.outside ?? []) ? evaluateNarrowing(subject, true) : texts
      const own = [evaluateAll(subject), ...evaluateInitiators(subject)]
      return tools.filter((entry) =>
        [...own, ...(isDescribed(subject, entry) ? others : texts)].every((allowed) => allowed.has(entry.tool.name)),
      )
    },
    explain,
    view: viewOf,
    beyondRuleOfTwo: (subject) =>
      subject.narrowing?.mode === 'ask' ||
      [subject, ...(subject.initiators ?? [])].every(({ agentId }) => beyondRuleOfTwo(config, agentId) === 'ask')
        ? 'ask'
        : 'deny',
    liftedBy: (subject, entry) => {
      if (subject.isLifted) return 'a person has accepted this for the turn'
      const rules = [subject, ...(subject.initiators ?? []), ...(subject.narrowing?.authors ?? [])].map(({ agentId }) =>
        findRule(hookAllow(config, agentId), viewOf(entry)),
      )
      return rules.every((rule) => rule !== undefined) ? rules[0] : undefined
    },
    isTrusted: (entry) => config.tools.trusted?.some((name) => matches(name, viewOf(entry))) ?? false,
    problems: findUnmatchedNames(config, {
      known: tools.map(viewOf),
      expected: registry.expected,
    }).map(({ keys, problem }) => `${dotted(keys)} ${problem}`),
  }
}

const unknownTool: Verdict = { layer: 'registry', verdict: 'deny', rule: 'no tool has this name' }

/** Sessions without end would fill the memory: a caller may name any session. */
const maxMemoized = 1000

/** What the policy says of a tool: `ask` means that a person must approve each call. */
export interface Judgement extends Pick<Decision, 'verdict' | 'rule'> {
  /** True: only texts that the turn sees are the reason. */
  isNarrowed?: boolean | undefined
}

const judgeNarrowed = (narrowing: Narrowing): Judgement => ({
  verdict: narrowing.mode,
  rule: `this turn sees ${describeNarrowing(narrowing)}, which may not use it`,
  isNarrowed: true,
})

/** The tools that a subject may use, by name. */
type AllowedTools = Map<string, Judgement>

/** JSON, because a client chooses some of the values: two subjects must never share a key. */
const keyOf = ({ caller, agentId, sessionKey, model, channel, accountId, fromHook, client }: Subject): string =>
  JSON.stringify([caller, agentId, sessionKey, model, channel, accountId, fromHook, client])
