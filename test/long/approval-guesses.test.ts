// Guesses thousands of codes in a chat: few are looked at, no call is approved, and the time is bounded.
import { expect, it } from 'vitest'
import { startApprovals } from '../approvals/start-approvals.ts'
import { codeIn } from '../approvals/launch-pad.ts'

const guesses = Number(process.env['GUESSES'] ?? 10_000)
const wrong = 'No call waits for an answer with this code.'
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** Another code each time. */
const codeOf = (index: number): string =>
  Array.from({ length: 8 }, (_, place) => alphabet[Math.floor(index / 32 ** place) % 32]).join('')

it('approves nothing, though an approver or a stranger guesses many codes', async () => {
  const { ask, chat, get, say, post, conclude } = await startApprovals({ hooks: { allowRequestSessionKey: true } })
  const { runId, approval, question } = await ask({})
  const startedAt = performance.now()
  const answers = Array.from({ length: guesses }, (_, index) => ({ text: `approve ${codeOf(index)}` }))
  for (const answer of answers) expect(await chat.say({ ...answer, from: { id: 'eve' }, to: 'eve' })).toBe('ignored')
  for (const answer of answers) expect(await chat.say({ ...answer, to: 'guesses' })).toBe('accepted')
  const replies = (await chat.holds(guesses, 'guesses')).map(({ text }) => text)
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  expect(replies.filter((text) => text === wrong).length).toBeLessThanOrEqual(5 * Math.ceil(seconds / 600 + 1))
  expect(replies.at(-1)).toMatch(/^There were too many wrong codes; wait \d+ minutes, or use /)
  console.log({ guesses: 2 * guesses, seconds, lookedAt: replies.filter((text) => text === wrong).length })
  // The right one counts neither.
  expect(await say(`approve ${codeIn(question)}`)).toMatch(/^There were too many wrong codes/)
  expect((await get(`/api/approvals/${approval.id}`)).body.status).toBe('waiting')
  await conclude(runId, () => post(`/api/approvals/${approval.id}/deny`, {}))
})
