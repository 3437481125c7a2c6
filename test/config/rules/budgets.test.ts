// The rules of budgets.
import { describe, expect, it } from 'vitest'
import { problemsOf } from '../document.ts'

const alerts = "alerts: { channel: 'last' }"

describe('a budget', () => {
  it('must limit something', () => {
    expect(problemsOf(`{ budget: [{ per: '1d' }], ${alerts} }`)).toEqual([
      'line 1: budget[0] limits nothing; set runs, tokens or usd',
    ])
  })

  it.each(["runs: 'many'", 'tokens: 0', 'usd: -1'])('with the invalid limit %s has no other problem', (limit) => {
    const [key = ''] = limit.split(':')
    expect(problemsOf(`{ budget: [{ per: '1d', ${limit} }], ${alerts} }`)).toEqual([
      expect.stringContaining(`budget[0].${key} must`),
    ])
  })
})
