// Tests the command `approvals` as a child process, against a gateway with a call that waits.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { toolsetSource } from '../approvals/launch-pad.ts'
import { startModel } from '../doubles/model.ts'
import { gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { run } from './command-line.ts'

it('lists, shows, approves and denies calls', async () => {
  const [model, dir] = [await startModel(), temporaryFolder()]
  writeFileSync(join(dir, 'pad.mjs'), toolsetSource(join(dir, 'launches.jsonl')))
  const gateway = await startGateway(
    {
      providers: model.providers,
      plugins: ['./pad.mjs'],
      tools: { ask: ['launch'] },
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
    },
    dir,
  )
  const env = { SVC_GATEWAY_URL: gateway.url, SVC_GATEWAY_TOKEN: gatewayToken }
  const cli = (...args: string[]) => run(dir, args, { env })
  const args = { note: '\u202Etwo\nlines' }
  const ids: string[] = []
  for (const _ of [1, 2]) {
    model.script({ tool: 'launch', args })
    await gateway.post('/hooks/agent', { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat' })
    await expect.poll(async () => (await gateway.get('/api/approvals')).body.items.length).toBe(ids.length + 1)
    ids.push((await gateway.get('/api/approvals')).body.items[0].id)
  }
  const [first = '', second = ''] = ids
  const listed = (await cli('approvals', 'list')).stdout
  expect(listed).toMatch(
    new RegExp(`^${second}  waiting  \\S+  main  launch  .*  tools\\.ask: "launch"\n${first}  waiting`),
  )
  const shown = (await cli('approvals', 'show', first)).stdout
  expect(shown).toMatch(/^status {5}waiting$/m)
  expect(shown).toContain(String.raw`1| {"note":"\u202etwo\nlines"}`)
  expect((await cli('runs', 'show', (await gateway.get(`/api/approvals/${first}`)).body.runId)).stdout).toContain(
    'waiting for an approval',
  )
  model.script({ text: 'Done.' }, { text: 'Done.' })
  expect((await cli('approvals', 'approve', first)).stdout).toBe(
    'Approved: the call is made now: launch of the agent main.\n',
  )
  const denied = await cli('approvals', 'deny', second, '--reason', 'too late')
  expect(denied.stdout).toBe('Denied: launch of the agent main.\n')
  expect(await cli('approvals', 'approve', second)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('This call was already denied.'),
  })
  const [latest] = (await cli('approvals', 'list', '--status', 'all', '--json')).stdout.split('\n')
  expect(JSON.parse(latest ?? '')).toMatchObject({ id: second, status: 'denied', reason: 'too late' })
  const metrics = await (
    await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${gatewayToken}` } })
  ).text()
  expect(metrics).toContain('svc_gateway_approvals_waiting 0')
  expect(metrics).toContain('svc_gateway_approvals_total{outcome="denied"} 1')
  await expect.poll(async () => (await gateway.get('/api/runs?status=succeeded')).body.items.length).toBe(2)
})
