// Tests the log entries for runs that have ended.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { startGateway } from '../helpers.ts'

describe('the log of runs', () => {
  it('has an entry for each end and each undeliverable reply, without any text', async () => {
    const { post, logged } = await startGateway()
    const message = 'the secret plan'
    const { body } = await post(
      '/hooks/agent',
      { message, name: 'the secret name', channel: 'telegram' },
      { prefer: 'wait=20' },
    )
    const lines = logged.map((line) => JSON.parse(line)).filter(({ runId }) => runId === body.runId)
    expect(lines).toEqual([
      {
        level: 'info',
        component: 'agents',
        runId: body.runId,
        kind: 'hook',
        agentId: 'main',
        hook: 'agent',
        status: 'succeeded',
        ms: expect.any(Number),
        message: 'run ended',
      },
      {
        level: 'warn',
        component: 'agents',
        runId: body.runId,
        channel: 'telegram',
        reason: expect.stringContaining('telegram'),
        message: 'reply not delivered',
      },
    ])
    expect(logged.join('\n')).not.toContain('secret')
  })

  it('has a warning for each failed run, with its hook, its mapping and the reason', async () => {
    const model = await startModel()
    model.script({ status: 400 }, { hang: true })
    const mapping = {
      id: 'disks',
      match: { path: 'alerts' },
      messageTemplate: '{{ text }}',
      deliver: false,
      wakeMode: 'next-heartbeat',
      timeoutSeconds: 0.3,
    }
    const { post, logged } = await startGateway({
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: '0' }, retry: { forSeconds: 0 } } },
      hooks: { mappings: [mapping] },
    })
    const failed = (await post('/hooks/alerts', { text: 'the secret plan' }, { prefer: 'wait=20' })).body
    const late = (await post('/hooks/alerts', { text: 'the secret plan' }, { prefer: 'wait=20' })).body
    const linesOf = (runId: string) => logged.map((line) => JSON.parse(line)).filter((line) => line.runId === runId)
    const common = {
      level: 'warn',
      component: 'agents',
      kind: 'hook',
      agentId: 'main',
      hook: 'alerts',
      mapping: 'disks',
      ms: expect.any(Number),
      message: 'run failed',
    }
    expect(linesOf(failed.runId)).toEqual([
      {
        ...common,
        runId: failed.runId,
        status: 'failed',
        type: 'model_failed',
        reason: "The model's service answered 400.",
      },
    ])
    expect(linesOf(late.runId)).toEqual([
      {
        ...common,
        runId: late.runId,
        status: 'timed_out',
        type: 'timed_out',
        reason: 'The run was stopped after 0.3 seconds.',
      },
    ])
    expect(logged.join('\n')).not.toContain('secret')
  })
})
