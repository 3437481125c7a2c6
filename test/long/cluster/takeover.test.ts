// How long a replica needs to take over what another one held: its channel account and its runs.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it, onTestFinished } from 'vitest'
import {
  gatewayToken,
  type GatewayProcess,
  hookToken,
  spawnGateway,
  temporaryFolder,
  writeConfig,
} from '../../helpers.ts'
import { createDatabase } from '../../postgres.ts'
import { startTurnRecorder, type TurnRecorder } from './turn-recorder.ts'

/** As docs/operate.md says. */
const maxSeconds = 20
const rounds = 3

/** The first gateway holds the account and a run before the second one starts. */
async function startPair(model: TurnRecorder) {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  const dir = temporaryFolder()
  const start = async (name: string) => {
    mkdirSync(join(dir, name))
    const gateway = await spawnGateway(
      writeConfig(join(dir, name), {
        storage: { url: database.url },
        providers: model.providers,
        agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
        channels: { console: { file: join(dir, 'console.jsonl') } },
      }),
    )
    onTestFinished(() => void gateway.process.kill('SIGKILL'))
    return gateway
  }
  const holder = await start('holder')
  await expect.poll(() => stateOf(holder)).toBe('connected')
  expect((await startRun(holder)).status).toBe(200)
  await expect.poll(() => model.turns.length).toBe(1)
  return { holder, other: await start('other') }
}

async function stateOf({ url }: GatewayProcess): Promise<string> {
  const response = await fetch(`${url}/api/channels`, { headers: { authorization: `Bearer ${gatewayToken}` } })
  return ((await response.json()) as { accounts: { state: string }[] }).accounts[0]!.state
}

const startRun = ({ url }: GatewayProcess) =>
  fetch(`${url}/hooks/agent`, {
    method: 'POST',
    headers: { authorization: `Bearer ${hookToken}` },
    body: JSON.stringify({ message: '<s1-1>', deliver: false, wakeMode: 'next-heartbeat' }),
  })

const secondsSince = (start: number) => Math.round((performance.now() - start) / 100) / 10

async function measure(signal: NodeJS.Signals): Promise<{ account: number; run: number }> {
  // The first turn never ends, because its gateway does not.
  const model = await startTurnRecorder(() => (model.turns.length === 1 ? 600_000 : 10))
  onTestFinished(model.close)
  const { holder, other } = await startPair(model)
  const start = performance.now()
  holder.process.kill(signal)
  const until = async (reached: () => unknown, expected: unknown) => {
    await expect.poll(reached, { timeout: 60_000, interval: 100 }).toBe(expected)
    return secondsSince(start)
  }
  const [account, run] = await Promise.all([
    until(() => stateOf(other), 'connected'),
    until(() => model.turns.length, 2),
  ])
  return { account, run }
}

it.each<NodeJS.Signals>(['SIGKILL', 'SIGSTOP'])('takes over from a holder that got %s', async (signal) => {
  for (let round = 1; round <= rounds; round++) {
    const seconds = await measure(signal)
    console.info(signal, seconds)
    expect(seconds.account).toBeLessThanOrEqual(maxSeconds)
    expect(seconds.run).toBeLessThanOrEqual(maxSeconds)
  }
})
