// How long a replica needs to take over what another one held: its channel account and its runs.
import { expect, it, onTestFinished } from 'vitest'
import { startPair, stateOf } from './pair.ts'
import { startTurnRecorder } from './turn-recorder.ts'

/** As docs/operate.md says. */
const maxSeconds = 20
const rounds = 3

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
