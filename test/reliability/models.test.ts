// Tests how runs end when their model misbehaves, seen over HTTP.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import type { Answer as ModelAnswer } from '../doubles/wire.ts'
import { startGateway } from '../helpers.ts'
import { share } from '../share.ts'

const failing = { status: 500, headers: { 'retry-after-ms': '1' }, body: { error: { message: 'out of order' } } }

describe('a run whose model', () => {
  const shared = share(async () => {
    const model = await startModel()
    const defaults = { model: 'double/m', heartbeat: { every: '0' }, retry: { forSeconds: 0 } }
    return { model, ...(await startGateway({ providers: model.providers, agents: { defaults } })) }
  })

  const cases: [what: string, answers: ModelAnswer[], run: { status: string; error?: string; reply?: RegExp }][] = [
    ['hangs', [{ hang: true, text: 'well, ' }], { status: 'timed_out', error: 'timed_out' }],
    ['fails', [failing, failing, failing], { status: 'failed', error: 'model_failed' }],
    ['fails once', [failing, { text: 'better now' }], { status: 'succeeded', reply: /^better now$/ }],
    ['breaks off', [{ truncate: true, text: 'and then' }], { status: 'failed', error: 'model_failed' }],
    ['says 10 MB', [{ text: 'blah '.repeat(2_000_000) }], { status: 'succeeded', reply: /^(blah ?){20000}\s*\[cut: / }],
  ]
  it.each(cases)('%s ends in time and posts a run summary', async (name, answers, { status, error, reply }) => {
    const { model, post, get } = shared()
    const before = model.requests.length
    model.script(...answers)
    // Only what never ends must reach the limit.
    const timeoutSeconds = status === 'timed_out' ? 2 : 20
    const ended = await post(
      '/hooks/agent',
      { name, message: 'do it', channel: 'slack', timeoutSeconds, wakeMode: 'next-heartbeat' },
      { prefer: 'wait=25' },
    )
    expect(ended.body.status).toBe(status)
    if (reply) expect(ended.body.reply).toMatch(reply)
    const run = await get(`/runs/${ended.body.runId}`)
    expect(run.body.error?.type).toBe(error)
    expect(run.body.deliveries).toHaveLength(error ? 0 : 1)
    // The main agent receives the summary in its next turn.
    model.script({ text: 'HEARTBEAT_OK' })
    await post('/hooks/wake', { text: 'next' })
    expect(await model.prompt(before + answers.length)).toContain(error ? `Hook ${name} (failed): ` : `Hook ${name}: `)
  })
})
