// A gateway that continues after others have taken over its run.
import { expect, it, onTestFinished } from 'vitest'
import { checkHistory, type Message } from './history.ts'
import { send, startPair } from './pair.ts'
import { listUnfinished, readReplies, readSucceeded } from './read-history.ts'
import { startTurnRecorder } from './turn-recorder.ts'

it('cannot end the run, which would start the next one of the session too early', async () => {
  // The holder is stopped in its turn. It finds the answer when it continues, while the other one repeats the turn.
  const thinkMs = [5_000, 5_000, 10]
  const model = await startTurnRecorder(() => thinkMs[model.turns.length - 1] ?? 10)
  onTestFinished(model.close)
  const { holder, other, databaseUrl, consoleFile } = await startPair(model)
  holder.process.kill('SIGSTOP')
  await send(other, '<s1-1>')
  await expect.poll(() => model.turns.length, { timeout: 60_000 }).toBe(2)
  holder.process.kill('SIGCONT')
  await expect.poll(() => listUnfinished(databaseUrl), { timeout: 60_000 }).toEqual([])

  const acknowledged: Message[] = [0, 1].map((n) => ({ session: 's1', n }))
  const [succeeded, replies] = await Promise.all([readSucceeded(databaseUrl), readReplies(consoleFile)])
  expect(checkHistory({ acknowledged, turns: model.turns, succeeded, replies })).toEqual([])
  expect(model.turns.map(({ n }) => n)).toEqual([0, 0, 1])
})
