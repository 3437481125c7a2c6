// Tests the gateway that plugin authors start in their tests, with the channel of docs/plugins.md.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createTestGateway, type TestGatewayOptions } from '../contracts.ts'
import { files } from '../docs-examples.ts'
import { openPagerService } from '../doubles/pager.ts'
import { temporaryFolder } from '../helpers.ts'

async function start(options: TestGatewayOptions = {}) {
  const pager = await openPagerService({ token: 'the-token-of-the-pager' })
  onTestFinished(pager.close)
  const plugin = join(temporaryFolder(), 'pager.ts')
  writeFileSync(plugin, files.find(({ name }) => name === 'pager.ts')?.text ?? '')
  const config = { plugins: [plugin], channels: { pager: pager.config }, ...options.config }
  const gateway = await createTestGateway({ ...options, config })
  onTestFinished(gateway.close)
  return { gateway, pager }
}

it('runs a plugin end to end: a request becomes a prompt, and the answer a message on the channel', async () => {
  const { gateway, pager } = await start({ answer: (prompt) => `You asked: ${prompt.length > 0}` })
  const message = { message: 'What is new?', channel: 'pager', to: pager.to, wakeMode: 'next-heartbeat' }
  const { status, body } = await gateway.post('/hooks/agent', message)
  expect(status).toBe(200)
  await expect.poll(pager.messages).toEqual([{ to: pager.to, text: 'You asked: true' }])
  expect(gateway.prompts.join()).toContain('What is new?')
  const run = async () => (await gateway.get(`/runs/${body.runId}`)).body
  await expect.poll(async () => (await run()).deliveries).toMatchObject([{ channel: 'pager', status: 'sent' }])
  expect(gateway.logged.join()).not.toContain('the-token-of-the-pager')
})

it('lets the model call a tool', async () => {
  const { gateway } = await start({
    answer: (prompt) => (prompt.includes('"agentId"') ? 'done' : { tool: 'session_status', args: {} }),
  })
  const headers = { prefer: 'wait=20' }
  const { body } = await gateway.post('/hooks/agent', { message: 'Call it.', deliver: false }, headers)
  expect(body).toMatchObject({ status: 'succeeded', reply: 'done' })
})

it('adds the configuration of the test to its own', async () => {
  const mappings = [{ match: { path: 'deploys' }, messageTemplate: 'Deployed: {{ service }}', deliver: false }]
  const { gateway } = await start({ config: { hooks: { mappings } }, answer: () => 'Noted.' })
  const { body } = await gateway.post('/hooks/deploys', { service: 'shop' }, { prefer: 'wait=20' })
  expect(body).toMatchObject({ status: 'succeeded', reply: 'Noted.' })
})

it('rejects with the reason when the plugin cannot be used', async () => {
  await expect(createTestGateway({ config: { plugins: ['/nowhere/plugin.ts'] } })).rejects.toThrow('/nowhere/plugin.ts')
})
