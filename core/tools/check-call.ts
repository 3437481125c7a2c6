// Says what the policy thinks of a tool call before it is made, for the record of the call.
import type { ToolStep } from '../store/store.ts'
import { isRepeatable } from './annotations.ts'
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
  policy: Pick<Policy, 'judge'>
  ruleOfTwo: Pick<RuleOfTwo, 'effectsOf'>
}

export function checkCall({ registry, policy, ruleOfTwo }: CheckDeps, subject: Subject, tool: string): CallCheck {
  const entry = registry.find(tool)
  const { verdict, rule } = policy.judge(subject, tool)
  return {
    verdict,
    rule,
    effects: entry && ruleOfTwo.effectsOf(entry),
    // An approval is for one call.
    isRepeatable: entry !== undefined && isRepeatable(entry.tool) && verdict !== 'ask',
  }
}
