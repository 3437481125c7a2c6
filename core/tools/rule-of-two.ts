// The rule of two: a turn that holds external content may read private things or send something outward, not both.
import type { Config } from '../config/schema/schema.ts'
import { GatewayError } from '../errors.ts'
import type { Log, Tool, ToolContext, ToolEffect } from '../plugin/plugin.ts'
import type { Exposure, Store } from '../store/store.ts'
import { ApprovalRequiredError } from './approval-required.ts'
import type { RegisteredTool } from './registry.ts'
import type { Verdict } from './evaluate.ts'
import { areOwnDescriptions } from './descriptions.ts'
import { isNamed, matches } from './names.ts'
import type { Policy } from './policy.ts'
import type { Subject } from './subject.ts'

export interface RuleOfTwo {
  /**
   * Resolves when the call may run and its effects are stored, with its effects.
   * Throws `tool_withheld` if the caller holds external content and has had the other effect before, or
   * `approval_required` if a person may approve that.
   */
  admit(entry: RegisteredTool, call: RuleOfTwoCall, context: ToolContext): Promise<readonly ToolEffect[]>
  /**
   * Whether the call would go beyond the rule if it ran now. Throws `tool_withheld` if nobody may approve that. Stores
   * nothing.
   */
  needsApproval(entry: RegisteredTool, call: RuleOfTwoCall, context: ToolContext): Promise<boolean>
  /** The effects of a tool, as far as they are known before a call. */
  effectsOf(entry: RegisteredTool): readonly ToolEffect[] | 'by-call'
  /** The verdict for a turn with text from outside that has had the `used` effects. */
  explain(entry: RegisteredTool, subject: Subject, used?: Effects): Verdict
}

/** What the rule needs to know of a tool call. */
export interface RuleOfTwoCall {
  args: unknown
  subject: Subject
  runId?: string | undefined
  /** Present: a person has approved the call. */
  approved?: { beyondRuleOfTwo: boolean } | undefined
}

type Effects = Pick<Exposure, 'readsPrivate' | 'sends'>

export interface RuleOfTwoDeps {
  store: Pick<Store, 'useEffects' | 'getExposure'>
  policy: Pick<Policy, 'view' | 'liftedBy' | 'beyondRuleOfTwo'>
  /** Effects that the operator sets by tool name, written as in policy lists. */
  effects: Config['tools']['effects']
  log: Log
}

const both: readonly ToolEffect[] = ['reads-private', 'sends']

export function createRuleOfTwo({ store, policy, effects = {}, log }: RuleOfTwoDeps): RuleOfTwo {
  /** The operator's setting takes precedence. A tool that declares nothing may have both effects. */
  const declaredEffects = (entry: RegisteredTool): NonNullable<Tool<unknown>['effects']> => {
    const view = policy.view(entry)
    const rows = Object.entries(effects)
    const [, configured] =
      rows.find(([name]) => isNamed(name, view)) ?? rows.find(([name]) => matches(name, view)) ?? []
    return configured ?? (entry.tool as Tool<unknown>).effects ?? both
  }

  const effectsOfCall = async (
    entry: RegisteredTool,
    args: unknown,
    context: ToolContext,
  ): Promise<readonly ToolEffect[]> => {
    const found = declaredEffects(entry)
    const list = typeof found === 'function' ? await found(args, context) : found
    return isEffectList(list) ? list : both
  }

  /** Throws unless a person may approve the call. */
  const checkApprovable = ({ tool }: RegisteredTool, { subject, runId }: RuleOfTwoCall, before?: ToolEffect): void => {
    if (policy.beyondRuleOfTwo(subject) === 'ask') return
    log.info(
      { tool: tool.name, runId, sessionKey: subject.sessionKey },
      'tool withheld: the run holds external content',
    )
    throw new GatewayError('tool_withheld', withheldMessage(tool.name, before))
  }

  return {
    admit: async (entry, call, context) => {
      const { args, subject, approved } = call
      const { scopes = [] } = subject
      const uses = await effectsOfCall(entry, args, context)
      if (scopes.length === 0 || uses.length === 0 || isDescribed(subject, entry)) return uses
      const force = approved?.beyondRuleOfTwo || policy.liftedBy(subject, entry) !== undefined
      const doesBoth = uses.length > 1
      const before = doesBoth && !force ? undefined : await store.useEffects({ scopes, effects: uses, force })
      if (before === undefined && (force || !doesBoth)) return uses
      checkApprovable(entry, call, before)
      throw new ApprovalRequiredError({ rule: askingRule(before), beyondRuleOfTwo: true, isNarrowed: true })
    },

    needsApproval: async (entry, call, context) => {
      const { scopes = [] } = call.subject
      if (scopes.length === 0 || isDescribed(call.subject, entry)) return false
      if (policy.liftedBy(call.subject, entry) !== undefined) return false
      const uses = await effectsOfCall(entry, call.args, context)
      const exposures = await Promise.all(scopes.map((scope) => store.getExposure(scope)))
      const before = uses.length === 1 ? otherEffect(uses[0] as ToolEffect, exposures) : undefined
      if (uses.length < 2 && before === undefined) return false
      checkApprovable(entry, call, before)
      return true
    },

    effectsOf: (entry) => {
      const found = declaredEffects(entry)
      return typeof found === 'function' ? 'by-call' : found
    },

    explain: (entry, subject, used) => {
      const verdict = (verdict: Verdict['verdict'], rule: string): Verdict => ({ layer: 'rule_of_two', verdict, rule })
      const lift = policy.liftedBy(subject, entry)
      if (lift !== undefined) return verdict('allow', lift)
      if (isDescribed(subject, entry)) return verdict('none', 'the turn sees only its own descriptions')
      const beyond = policy.beyondRuleOfTwo(subject)
      const found = declaredEffects(entry)
      if (typeof found === 'function') return verdict('none', 'depends on the call')
      if (found.length > 1) return verdict(beyond, 'it may both read private things and send outward')
      if (found.includes('sends') && used?.readsPrivate)
        return verdict(beyond, 'it sends outward, and the turn sees private things')
      if (found.includes('reads-private') && used?.sends)
        return verdict(beyond, 'it reads private things, and the turn has sent something outward')
      return { layer: 'rule_of_two', verdict: 'none' }
    },
  }
}

/**
 * The only texts from outside are the tool's own descriptions. They ask for no more than its result could, unless a tool
 * of the turn has read something private because they asked for that.
 */
const isDescribed = ({ narrowing, fromHook }: Subject, entry: RegisteredTool): boolean =>
  !fromHook && narrowing !== undefined && !narrowing.hasReadPrivate && areOwnDescriptions(narrowing.sources, entry)

/** The effect that the scopes have had and that excludes this one. */
function otherEffect(effect: ToolEffect, exposures: readonly (Exposure | undefined)[]): ToolEffect | undefined {
  if (effect === 'sends') return exposures.some((used) => used?.readsPrivate) ? 'reads-private' : undefined
  return exposures.some((used) => used?.sends) ? 'sends' : undefined
}

const isEffectList = (value: unknown): value is readonly ToolEffect[] =>
  Array.isArray(value) && value.every((effect) => both.includes(effect as ToolEffect))

const reasons: Readonly<Record<ToolEffect, string>> = {
  'reads-private': 'private things have been read, so nothing may be sent outward',
  sends: 'something has been sent outward, or the sender waits for the reply, so nothing private may be read',
}

/** Read by the approver. */
const askingRule = (before: ToolEffect | undefined): string => {
  const reason = before ? reasons[before] : 'the tool may both read private things and send them away'
  return `the rule of two: the turn sees text from outside, and ${reason}`
}

/** Read by the model, and by the operator in the transcript. */
function withheldMessage(tool: string, before: ToolEffect | undefined): string {
  const lift = 'The operator can lift this with tools.byOrigin.hook.allow'
  const withheld = `${tool} is withheld: this turn sees text from outside`
  if (before) return `${withheld} and ${reasons[before]}. ${lift}.`
  const reason = 'the tool may both read private things and send them away'
  return `${withheld}, and ${reason}. ${lift}, or say with tools.effects what the tool does.`
}
