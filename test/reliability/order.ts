// Checks of the order of a session's events and runs under load.
import { expect } from 'vitest'
import { type ModelServer, startModel } from '../doubles/model.ts'
import { startGateway } from '../helpers.ts'

const clients = 32

/**
 * Posts this many wakes between two turns. Checks that all reach the agent, each client's in order, at most a hundred
 * per prompt.
 */
export async function wakesStayInOrder(count: number): Promise<void> {
  const model = await startModel()
  model.otherwise({ text: 'HEARTBEAT_OK' })
  const { post } = await startGateway({
    providers: model.providers,
    agents: { defaults: { heartbeat: { model: 'double/m' }, retry: { forSeconds: 0 } } },
  })
  const each = count / clients
  await forEachClient(async (client) => {
    for (let n = 0; n < each; n++)
      expect((await post('/hooks/wake', { text: `<${client}-${n}>`, mode: 'next-heartbeat' })).status).toBe(200)
  })
  await post('/hooks/wake', { text: '<the last one>' })
  const read = await readUntilLast(model, 0)
  for (const batch of read) expect(batch.length).toBeLessThanOrEqual(100)
  expect(read.flat()).toHaveLength(count + 1)
  await expectEachInOrder(read.flat(), each)
}

/**
 * Requests this many runs of one session at once while its first run hangs. Checks that other sessions are not delayed
 * and that the runs end in the order of acceptance.
 */
export async function runsStayInOrder(count: number): Promise<void> {
  const model = await startModel()
  model.script({ hang: true })
  model.otherwise({ text: 'HEARTBEAT_OK' })
  const { post } = await startGateway({
    hooks: { allowRequestSessionKey: true },
    providers: model.providers,
    agents: { defaults: { heartbeat: { model: 'double/m' } } },
  })
  const run = (message: string, more: object, headers = {}) =>
    post('/hooks/agent', { message, deliver: false, wakeMode: 'next-heartbeat', ...more }, headers)
  const first = await run('holds its session up', { sessionKey: 'crowded', model: 'double/m', timeoutSeconds: 3 })
  expect(first.status).toBe(200)
  await model.request(0)
  await forEachClient(async (client) => {
    for (let n = 0; n < count / clients; n++)
      expect((await run(`<${client}-${n}>`, { sessionKey: 'crowded' })).status).toBe(200)
  })
  for (const message of ['from elsewhere', 'once more'])
    expect((await run(message, { sessionKey: 'quiet' }, { prefer: 'wait=20' })).body.status).toBe('succeeded')
  await run('the last one', { sessionKey: 'crowded' }, { prefer: 'wait=300' })
  await post('/hooks/wake', { text: '<the last one>' })
  const prompted = (await readUntilLast(model, 1)).flat()
  expect(prompted).toHaveLength(count + 1)
  await expectEachInOrder(prompted, count / clients)
}

/** Returns the texts in each prompt, up to the prompt with the last one. */
async function readUntilLast(model: ModelServer, from: number): Promise<string[][]> {
  const texts = Array.from((await model.prompt(from)).matchAll(/<(?:\d+-\d+|the last one)>/g), ([text]) => text)
  return texts.includes('<the last one>') ? [texts] : [texts, ...(await readUntilLast(model, from + 1))]
}

async function expectEachInOrder(texts: readonly string[], each: number): Promise<void> {
  await forEachClient(async (client) => {
    const own = texts.filter((text) => text.startsWith(`<${client}-`))
    expect(own).toEqual(Array.from({ length: each }, (_, n) => `<${client}-${n}>`))
  })
}

const forEachClient = async (work: (client: number) => Promise<void>): Promise<void> => {
  await Promise.all(Array.from({ length: clients }, (_, client) => work(client)))
}
