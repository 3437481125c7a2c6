// The record of a run has what its tools threw; the model, the log and the sender of a webhook do not.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createTestGateway } from '../contracts.ts'
import { temporaryFolder } from '../helpers.ts'

const plugin = `import { defineTool, defineToolset, InputError, Type } from 'svc-gateway/plugin'
const config = Type.Object({ token: Type.String({ secret: true }) })
export default defineToolset({
  name: 'articles',
  description: 'Articles.',
  config,
  open: async ({ token }) => ({
    tools: [
      defineTool({
        name: 'find_article',
        description: 'Finds an article.',
        args: Type.Object({ name: Type.String() }),
        effects: ['reads-private'],
        execute({ name }) {
          if (name === '') throw new InputError('name is empty.')
          throw new RangeError('no article ' + name + ' with ' + token, { cause: new Error('status 500') })
        },
      }),
    ],
    close: async () => undefined,
  }),
})`

it('keeps the errors of tools with their text, without secrets, in the record of the run', async () => {
  const file = join(temporaryFolder(), 'articles.ts')
  writeFileSync(file, plugin)
  const calls = ['', 'blue canary']
  const gateway = await createTestGateway({
    config: { plugins: [file], hooks: { replyToSender: true }, tools: { articles: { token: 'swordfish-123' } } },
    answer: () => {
      const name = calls.shift()
      return name === undefined ? 'It failed.' : { tool: 'find_article', args: { name } }
    },
  })
  onTestFinished(gateway.close)
  const message = { message: 'Find it.', deliver: false, wakeMode: 'next-heartbeat' }
  const { body } = await gateway.post('/hooks/agent', message, { prefer: 'wait=20' })
  expect(body).toEqual({
    ok: true,
    runId: expect.any(String),
    sessionKey: expect.any(String),
    status: 'succeeded',
    reply: 'It failed.',
  })
  expect((await gateway.get(`/runs/${body.runId}`)).body.toolErrors).toEqual([
    { tool: 'find_article', message: 'RangeError: no article blue canary with [redacted]; Error: status 500' },
  ])
  expect(gateway.prompts.at(-1)).toContain("The tool failed. See the gateway's log.")
  expect(gateway.logged.join()).not.toContain('canary')
  const line = gateway.logged.map((text) => JSON.parse(text)).find((one) => one.message === 'tool failed')
  expect(line).toMatchObject({ tool: 'find_article', runId: body.runId, reason: 'RangeError', cause: 'Error' })
  expect(line.at).toContain('articles.ts')
})
