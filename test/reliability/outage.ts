// A model outage while signed alerts arrive: all are accepted, and each is answered once when the model is back.
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { type ModelServer, startModel } from '../doubles/model.ts'
import type { Answer as ModelAnswer } from '../doubles/wire.ts'
import { ask, type Document, gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { ended } from './process.ts'

export interface Outage {
  alerts: number
  /** How long the outage lasts, and how long each kind of failure lasts, in milliseconds. */
  ms: number
  phaseMs: number
  retry: Document
  /** Shorter than a phase, so that the model hangs for longer than a run may last. */
  timeoutSeconds: number
  /** The `firstTokenTimeout` of the model for half of the alerts. For the others, the limit of the run comes first. */
  firstTokenTimeout: string
  /** How long after the outage the last alert must be answered. */
  recoveryMs: number
}

/** The hooks of the alerts, one for each agent. */
const paths = ['main', 'impatient']
const mappingFor = (agentId: string): Document => ({
  match: { path: agentId },
  agentId,
  auth: { scheme: 'hmac', header: 'x-sig', secret },
  messageTemplate: '{{ text }}',
  wakeMode: 'next-heartbeat',
  channel: 'console',
})
const secret = 'the secret of the alerts 0123456789'

/** The kinds of failure, which alternate. */
const failures: readonly ModelAnswer[] = [
  { status: 500, headers: { 'retry-after-ms': '1' } },
  { status: 429, headers: { 'retry-after-ms': '1' } },
  { hang: true },
  { hang: true, text: 'Let me' },
  { drop: true, text: 'Let me' },
]

export async function surviveOutage({ alerts, ms, phaseMs, recoveryMs, ...limits }: Outage): Promise<void> {
  const [model, dir] = [await startModel(), temporaryFolder()]
  const { retry, timeoutSeconds, firstTokenTimeout } = limits
  const { url } = await startGateway(
    {
      providers: {
        ...model.providers,
        impatient: { ...(model.providers['double'] as Document), firstTokenTimeout },
      },
      agents: {
        defaults: { model: 'double/m', heartbeat: { every: '0' }, retry, timeoutSeconds },
        main: { default: true },
        impatient: { model: 'impatient/m' },
      },
      hooks: { mappings: paths.map(mappingFor) },
    },
    dir,
  )
  const over = new AbortController()
  const failing = failInTurns(model, phaseMs, over.signal)
  const runIds: string[] = []
  for (let n = 0; n < alerts; n++) {
    runIds.push(await sendAlert(url, n))
    await delay(ms / alerts)
  }
  over.abort()
  await failing
  model.otherwise({ text: 'Seen.' })
  model.tear()

  const overAt = performance.now()
  for (const runId of runIds) expect(await ended(url, runId)).toMatchObject({ status: 'succeeded' })
  expect(performance.now() - overAt).toBeLessThan(recoveryMs)
  const outbox = async () =>
    (await ask(`${url}/api/outbox?status=pending`, { headers: { authorization: `Bearer ${gatewayToken}` } })).body.items
  await expect.poll(outbox, { timeout: 60_000 }).toEqual([])
  const keys = readFileSync(join(dir, 'console.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { key: string }).key)
  expect(keys.toSorted((a, b) => a.localeCompare(b))).toEqual(
    runIds.map((id) => `${id}:0:0`).toSorted((a, b) => a.localeCompare(b)),
  )
}

/** Closes hanging connections when the kind of failure changes, like a restarting service. */
async function failInTurns(model: ModelServer, phaseMs: number, signal: AbortSignal): Promise<void> {
  for (let turn = 0; !signal.aborted; turn++) {
    model.otherwise(failures[turn % failures.length] as ModelAnswer)
    model.tear()
    await delay(phaseMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Returns the run id. */
async function sendAlert(url: string, n: number): Promise<string> {
  const body = JSON.stringify({ text: `alert ${n}` })
  const headers = { 'x-sig': createHmac('sha256', secret).update(body).digest('hex'), 'idempotency-key': `alert-${n}` }
  const answer = await ask(`${url}/hooks/${paths[n % paths.length]}`, { method: 'POST', body, headers })
  expect(answer.status).toBe(200)
  return answer.body.runId as string
}
