// What the log says of runs that have ended.
import { describe, expect, it } from 'vitest'
import { startGateway } from '../helpers.ts'

describe('the log of runs', () => {
  it('has a line for each that ended, and one for a reply that has nowhere to go; none holds a text of anybody', async () => {
    const { post, logged } = await startGateway()
    const message = 'the secret plan'
    const { body } = await post('/hooks/agent', { message, name: 'the secret name', channel: 'telegram' }, { prefer: 'wait=20' })
    const lines = logged.map((line) => JSON.parse(line)).filter(({ runId }) => runId === body.runId)
    expect(lines).toEqual([
      { level: 'info', room: 'agents', runId: body.runId, kind: 'hook', agentId: 'main', status: 'succeeded', ms: expect.any(Number), message: 'run ended' },
      { level: 'warn', room: 'agents', runId: body.runId, channel: 'telegram', reason: expect.stringContaining('telegram'), message: 'reply not delivered' },
    ])
    expect(logged.join('\n')).not.toContain('secret')
  })
})
