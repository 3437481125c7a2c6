// Tests the rule of two with all pairs of tools: in one step, in two steps, across runs and a restart,
// and across subagents.
import { describe, it } from 'vitest'
import { share } from '../share.ts'
import {
  openPairs,
  start,
  tryInOneStep,
  tryInSubagents,
  tryInTwoRuns,
  tryInTwoSteps,
} from '../tools/rule-of-two-pairs.ts'

describe('every pair of tools in a webhook session', () => {
  const shared = share(() => start())

  it('obeys the rule in one step: one of two exclusive calls is made', () => tryInOneStep(shared().gateway, openPairs))
  it('obeys the rule in two steps of one run', () => tryInTwoSteps(shared().gateway, openPairs))
  it('obeys the rule across two runs, and after a restart', () => tryInTwoRuns(openPairs))
  it('obeys the rule across a session and its subagent, in both orders', () =>
    tryInSubagents(shared().gateway, openPairs))
})
