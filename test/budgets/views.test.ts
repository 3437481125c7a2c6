// Where the state of budgets can be seen: the API, metrics, dry runs and commands.
import { describe, expect, it } from 'vitest'
import { ask, gatewayToken, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { callTokens, callUsd, mapping, startPriced } from './gateway.ts'
import { run } from '../cli/command-line.ts'

const shared = share(async () => {
  const gateway = await startPriced({
    budget: [{ per: '30d', usd: 9 }],
    hooks: {
      mappings: [
        mapping('used', { budget: [{ per: '1d', tokens: callTokens }] }),
        mapping('free', { budget: [{ per: '1d', runs: 3, onLimit: 'wait' }] }),
      ],
    },
    agents: { defaults: { budget: [{ per: '1h', tokens: 1000 }] }, main: {}, other: {} },
  })
  gateway.model.script({ text: 'Done.' })
  await gateway.hook('used')
  return gateway
})

describe('GET /api/budgets', () => {
  it('lists each budget with what was used and is left, those of the defaults for each agent', async () => {
    const { get, budgets } = shared()
    const used = { runs: 1, tokens: callTokens, usd: callUsd }
    const items = await budgets()
    expect(items).toMatchObject([
      { key: 'budget[0]', subject: { kind: 'all' }, per: '30d', limits: { usd: 9 }, used, left: { usd: 9 - callUsd } },
      {
        key: 'agents.defaults.budget[0] (agent main)',
        subject: { kind: 'agent', name: 'main' },
        used,
        isUsedUp: false,
      },
      { key: 'agents.defaults.budget[0] (agent other)', used: { runs: 0, tokens: 0, usd: 0 }, left: { tokens: 1000 } },
      {
        key: 'hooks.mappings[0].budget[0]',
        subject: { kind: 'hook', name: 'used' },
        left: { tokens: 0 },
        isUsedUp: true,
      },
      { key: 'hooks.mappings[1].budget[0]', onLimit: 'wait', left: { runs: 3 } },
    ])
    for (const { startedAt, endsAt } of items)
      expect(Date.parse(String(startedAt)) <= Date.now() && Date.now() < Date.parse(String(endsAt))).toBe(true)
    expect((await get('/api/budgets', { authorization: 'Bearer wrong' })).status).toBe(401)
  })
})

it('metrics have the use and the limit of each budget', async () => {
  const response = await fetch(`${shared().url}/metrics`, { headers: { authorization: `Bearer ${gatewayToken}` } })
  const text = await response.text()
  expect(text).toContain(`svc_gateway_budget_used{budget="hooks.mappings[0].budget[0]",unit="tokens"} ${callTokens}`)
  expect(text).toContain('svc_gateway_budget_limit{budget="budget[0]",unit="usd"} 9')
})

it('a dry run shows the budgets that the request would count against, and starts nothing', async () => {
  const { get, url, model, budgets } = shared()
  const before = await budgets()
  const { items } = (await get('/api/requests?hook=used&limit=1')).body
  const { body } = await ask(`${url}/api/requests/${items[0].id}/replay`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gatewayToken}` },
    body: JSON.stringify({ dryRun: true }),
  })
  expect(body.actions[0].budgets).toMatchObject([
    { key: 'budget[0]', isUsedUp: false },
    { key: 'agents.defaults.budget[0] (agent main)', left: { tokens: 1000 - callTokens } },
    { key: 'hooks.mappings[0].budget[0]', left: { tokens: 0 }, isUsedUp: true },
  ])
  expect(model.requests).toHaveLength(1)
  expect(await budgets()).toEqual(before)
})

it('the commands show them as tables', async () => {
  const { url, get } = shared()
  const env = { SVC_GATEWAY_URL: url, SVC_GATEWAY_TOKEN: gatewayToken }
  const cli = async (...args: string[]) => {
    const { stdout, stderr } = await run(temporaryFolder(), args, { env })
    expect(stderr).toBe('')
    return stdout
  }
  const listed = await cli('budgets')
  expect(listed).toMatch(/^budget\[0\] +30d +\$0\.0700 of \$9\.00 +open +\d{4}-/m)
  expect(listed).toMatch(/^hooks\.mappings\[0\]\.budget\[0\] +1d +70 of 70 tokens +used up +\d{4}-/m)
  const { items } = (await get('/api/requests?hook=used&limit=1')).body
  expect(await cli('replay', items[0].id, '--dry-run')).toMatch(
    /^ +budget +hooks\.mappings\[0\]\.budget\[0\], per 1d: 0 of 70 tokens left until \S+; it would be refused$/m,
  )
})
