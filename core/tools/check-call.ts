// Says what the policy thinks of a tool call before it is made, for the record of the call.
import type { ToolStep } from '../store/store.ts'
import type { Policy } from './policy.ts'
import type { ToolRegistry } from './registry.ts'
import type { RuleOfTwo } from './rule-of-two.ts'
import type { Subject } from './subject.ts'

export interface CallCheck extends Pick<ToolStep, 'effects' | 'verdict' | 'rule'> {
  /** True: the call may be made again if the gateway ended during it. */
  isRepeatable: boolean
}

interface CheckDeps {
  registry: Pick<ToolRegistry, 'find'>
  policy: Pick<Policy, 'allows' | 'explain'>
  ruleOfTwo: Pick<RuleOfTwo, 'effectsOf'>
}

export function checkCall({ registry, policy, ruleOfTwo }: CheckDeps, subject: Subject, tool: string): CallCheck {
  const entry = registry.find(tool)
  const isAllowed = policy.allows(subject, tool)
  const { layers } = policy.explain(subject, tool)
  const rule = isAllowed
    ? layers.findLast(({ verdict }) => verdict === 'allow')?.rule
    : (layers.find(({ verdict }) => verdict === 'deny')?.rule ?? 'denied to the session that started the run')
  return {
    verdict: isAllowed ? 'allow' : 'deny',
    rule,
    effects: entry && ruleOfTwo.effectsOf(entry),
    isRepeatable: entry?.tool.repeatable === true,
  }
}
