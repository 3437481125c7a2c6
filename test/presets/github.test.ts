// The preset for GitHub, with every example payload that GitHub publishes.
import examples from '@octokit/webhooks-examples'
import { describe, expect, it } from 'vitest'
import { loadPresets } from './deliver.ts'

const { judge } = (await loadPresets()).get('github')!
interface Example {
  action?: string
}

const events = (examples as unknown as { name: string; examples: Example[] }[]).flatMap(({ name, examples }) =>
  examples.map((payload) => ({ name, payload })),
)

describe('the preset github', () => {
  it('makes the expected message of each example payload', async () => {
    const told = events.map(({ name, payload }) => `${name} ${payload.action ?? '-'} → ${headOf(name, payload)}`)
    expect(told).toHaveLength(329)
    await expect(`${told.join('\n')}\n`).toMatchFileSnapshot('golden/github-examples.txt')
  })
})

function headOf(event: string, payload: Example): string {
  const judged = judge(payload, { 'x-github-event': event, 'x-github-delivery': 'd1' })
  if (!Array.isArray(judged)) return typeof judged === 'string' ? judged : judged.refused
  return judged
    .map(({ message = '', sessionKey }) => `${message.split('\n', 1)[0]} [${sessionKey}] ${message.length}`)
    .join(' | ')
}
