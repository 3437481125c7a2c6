// Narrows a policy by the one of the configuration in use, so that a reload takes rights away from runs under way.
import type { Judgement, Policy } from './policy.ts'

/** @param current the policy of the configuration in use. Undefined: there is none yet. */
export function narrowByCurrent(own: Policy, current: () => Policy | undefined): Policy {
  const newer = (): Policy | undefined => {
    const policy = current()
    return policy === own ? undefined : policy
  }
  return {
    ...own,
    judge: (subject, tool) => {
      const judgement = own.judge(subject, tool)
      const narrower = newer()?.judge(subject, tool)
      return narrower ? strictest(judgement, narrower) : judgement
    },
    listed: (subject) => {
      const tools = own.listed(subject)
      const policy = newer()
      if (!policy) return tools
      const remaining = new Set(policy.listed(subject).map(({ tool }) => tool.name))
      return tools.filter(({ tool }) => remaining.has(tool.name))
    },
    beyondRuleOfTwo: (subject) =>
      newer()?.beyondRuleOfTwo(subject) === 'deny' ? 'deny' : own.beyondRuleOfTwo(subject),
    liftedBy: (subject, entry) => {
      const policy = newer()
      return policy && policy.liftedBy(subject, entry) === undefined ? undefined : own.liftedBy(subject, entry)
    },
  }
}

const strictness = { allow: 0, ask: 1, deny: 2 }

const strictest = (own: Judgement, newer: Judgement): Judgement =>
  strictness[newer.verdict] > strictness[own.verdict] ? newer : own
