// Tests hooks.onFailure: alerts about failed webhook runs, one for each cause.
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { startModel } from '../doubles/model.ts'
import { type Document, startGateway, temporaryFolder } from '../helpers.ts'

const wait = { prefer: 'wait=20' }
const run = { message: 'the disk is full', deliver: false, wakeMode: 'next-heartbeat' }

async function start(onFailure: Document) {
  const [model, chat, dir] = [await startModel(), await startChat(), temporaryFolder()]
  const agents = { defaults: { model: 'double/m', heartbeat: { every: '0' }, retry: { forSeconds: 0 } } }
  const open = () =>
    startGateway(
      { providers: model.providers, agents, hooks: { onFailure }, ...chat.config(dir, { 'chat-native': {} }) },
      dir,
    )
  return { model, chat, open, ...(await open()) }
}

describe('hooks.onFailure', () => {
  const ann = { channel: 'chat-native', to: 'ann' }

  it('sends one alert for each cause, with the hook and the reason', async () => {
    const { model, chat, post, get } = await start(ann)
    model.script({ status: 400 }, { status: 400 }, { hang: true }, { text: 'well' })
    const first = (await post('/hooks/agent', { ...run, name: 'Disks' }, wait)).body.runId
    await post('/hooks/agent', run, wait)
    const third = (await post('/hooks/agent', { ...run, timeoutSeconds: 0.2 }, wait)).body.runId
    await post('/hooks/agent', run, wait)
    // The test channel accepts 80 characters in one message.
    const held = await chat.holds(6)
    expect(held.every(({ to }) => to === 'ann')).toBe(true)
    expect(held.map(({ text }) => text).join('\n')).toBe(
      [
        "The hook agent (Disks) has a run that failed: The model's service answered 400.",
        `Run ${first}. Further failures for this reason are`,
        'not reported for 10 minutes.',
        'The hook agent has a run that failed: The run was stopped after 0.2 seconds.',
        `Run ${third}. Further failures for this reason are`,
        'not reported for 10 minutes.',
      ].join('\n'),
    )
    expect((await get('/api/outbox')).body.items).toHaveLength(2)
  })

  it('does not repeat an alert after a restart', async () => {
    const { model, chat, gateway, post, open } = await start(ann)
    model.script({ status: 400 }, { status: 400 }, { hang: true })
    await post('/hooks/agent', run, wait)
    await chat.holds(3)
    await gateway.close()
    const after = await open()
    await after.post('/hooks/agent', run, wait)
    await after.post('/hooks/agent', { ...run, timeoutSeconds: 0.2 }, wait)
    expect((await chat.holds(6))[3]?.text).toContain('The run was stopped')
  })

  it('logs a warning when the alert has no recipient', async () => {
    const { model, chat, post, logged } = await start({ channel: 'chat-native' })
    model.script({ status: 400 })
    await post('/hooks/agent', run, wait)
    expect(logged.filter((line) => line.includes('a failure alert has no recipient'))).toHaveLength(1)
    expect(chat.attempts).toEqual([])
  })
})
