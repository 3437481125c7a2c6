// The migration 005-field-terms: a database of the version before opens and keeps its data.
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { migrations } from '../../../core/store/migrations/schema.ts'
import { openStore } from '../open-store.ts'
import { connect } from '../../../core/store/sqlite/connection.ts'
import { temporaryFolder } from '../../helpers.ts'

const before = migrations.findIndex(({ name }) => name.endsWith('field-terms'))
const log = { debug() {}, info() {}, warn() {}, error() {} }
const spec = JSON.stringify({
  origin: {
    kind: 'subagent',
    name: 'says "starters": and',
    trusted: true,
    starters: [{ caller: 'agent', agentId: 'main', sessionKey: 'k' }],
  },
  deliver: null,
  wakeMode: 'now',
  announceTo: 'agent:main:main',
})

async function openMigrated(statements: readonly (readonly [sql: string, ...values: (string | number | null)[]])[]) {
  const dir = temporaryFolder()
  const old = await connect(join(dir, 'old.db'), { steps: migrations.slice(0, before) })
  for (const [sql, ...values] of statements) await old.tx.run(sql, ...values)
  await old.close()
  return await openStore({ url: 'sqlite:old.db', dir, log })
}

it('keeps requests and the authentication of their senders', async () => {
  const insert = `
    INSERT INTO delivery (id, at, hook, client, status, result, awaited, headers, query, body)
    VALUES (?, 1, ?, ?, ?, ?, ?, ?, NULL, ?)`
  const result = JSON.stringify({ eventIds: ['e'], proof: { scheme: 'github', secret: 1 } })
  const store = await openMigrated([
    [insert, 'd', 'mail', '127.0.0.1', 'accepted', result, 1, '{}', '{"text":"The roof leaks."}'],
    [
      `INSERT INTO event (id, session_key, delivery_id, mode, source, trusted, at)
       VALUES ('e', 'agent:main:main', 'd', 'now', 'webhook mail', 0, 1)`,
    ],
  ])
  expect(await store.getRequest('d')).toMatchObject({
    hook: 'mail',
    result: { eventIds: ['e'], authentication: { scheme: 'github', secret: 1 } },
  })
  expect((await store.listRequests({ hook: 'mail' }, { limit: 9 })).items).toHaveLength(1)
  expect(await store.listSessionsWithWakes()).toEqual(['agent:main:main'])
  await store.close()
})

it('keeps runs with their provenance, deliveries and leases', async () => {
  const store = await openMigrated([
    [
      `INSERT INTO run (id, kind, agent_id, session_key, spec, status, attempt, max_attempts, fence, result, created_at,
         gate, gate_limit, message)
       VALUES ('r', 'hook', 'main', 'agent:main:one', ?, 'queued', 0, 2, 4, '{}', 1, 'mapping:a', 1, 'say "proof":')`,
      spec,
    ],
    [
      `INSERT INTO message (id, run_id, channel, account_id, recipient, route, text, status, attempt, fence,
         chunks_sent, uncertain, next_at, created_at)
       VALUES ('m', 'r', 'pager', 'default', '42', 'null', 'Hi', 'failed', 1, 7, 0, 0, 1, 1)`,
    ],
    [`INSERT INTO lease (name, owner, fence, until) VALUES ('beat', 'a', 3, 5)`],
    [`INSERT INTO state (part, key, value) VALUES ('toolset:x', 'cursor', '1')`],
  ])
  const run = await store.getRun('r')
  expect(run?.spec).toMatchObject({
    message: 'say "proof":',
    summarySession: 'agent:main:main',
    origin: { name: 'says "starters": and' },
  })
  expect(run?.spec.origin.initiators).toEqual([{ caller: 'agent', agentId: 'main', sessionKey: 'k' }])
  expect(await store.claimRuns({ owner: 'me', max: 9, at: 2, leaseMs: 9 })).toMatchObject([
    { id: 'r', fencingToken: 5 },
  ])
  expect(await store.getDelivery('m')).toMatchObject({ status: 'failed', fencingToken: 7 })
  expect(await store.retryDelivery('m', 2)).toBe(true)
  expect(await store.acquireLease('beat', 'b', 9, 99)).toEqual({ fencingToken: 4 })
  expect(await store.getState('toolset:x', 'cursor')).toBe(1)
  await store.close()
})
