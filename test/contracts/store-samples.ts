// Samples of store commands: each is valid, and each field can be changed.
import type { StepUsage } from '../../core/store/run-spec.ts'
import type {
  AcceptCommand,
  NewApproval,
  AuditedChange,
  NewEvent,
  NewDelivery,
  NewRun,
  NewSchedule,
  RunEnd,
  Step,
  Store,
  StoredDelivery,
  StoredRun,
} from '../../core/store/store.ts'

export const start = 1_700_000_000_000

let made = 0
const nextId = (prefix: string) => `${prefix}-${(made += 1)}`

export const newRun = (changes: Partial<NewRun> = {}): NewRun => ({
  id: nextId('run'),
  kind: 'hook',
  agentId: 'main',
  sessionKey: 'agent:main:one',
  spec: { message: 'Hello', origin: { kind: 'hook', name: 'agent', trusted: false }, deliver: null, wakeMode: 'now' },
  maxAttempts: 2,
  ...changes,
})

export const newEvent = (changes: Partial<NewEvent> = {}): NewEvent => ({
  id: nextId('event'),
  sessionKey: 'agent:main:one',
  text: 'Something happened',
  mode: 'next-heartbeat',
  source: 'webhook wake',
  trusted: false,
  ...changes,
})

export const newDelivery = (changes: Partial<NewDelivery> = {}): NewDelivery => ({
  id: nextId('message'),
  runId: 'run-of-nobody',
  channel: 'pager',
  accountId: 'default',
  to: '42',
  threadId: null,
  route: null,
  text: 'Hi',
  status: 'pending',
  reason: null,
  ...changes,
})

export const newSchedule = (changes: Partial<NewSchedule> = {}): NewSchedule => ({
  id: nextId('schedule'),
  agentId: 'main',
  name: 'Daily report',
  timing: { kind: 'every', ms: 60_000 },
  spec: newRun().spec,
  nextAt: start,
  ...changes,
})

export const newAudit = (changes: Partial<AuditedChange> = {}): AuditedChange => ({
  actor: { kind: 'client', name: 'gateway' },
  via: 'http',
  address: '127.0.0.1',
  action: 'run.cancel',
  target: 'run-of-nobody',
  agentId: 'main',
  ...changes,
})

export const newStep = (changes: Partial<ToolStepRow> = {}): Step => ({
  number: 1,
  attempt: 1,
  kind: 'tool',
  status: 'succeeded',
  startedAt: start,
  endedAt: start,
  detail: { tool: 'read' },
  content: { args: { path: 'a' } },
  message: { type: 'tool-result' },
  ...changes,
})

export const newModelStep = (changes: Partial<ModelStepRow> = {}): Step => ({
  ...newStep(),
  kind: 'model',
  detail: { model: 'double/m', usage: newUsage() },
  ...changes,
})
type ModelStepRow = Extract<Step, { kind: 'model' }>

export const newUsage = (changes: Partial<StepUsage> = {}): StepUsage => ({
  inputTokens: 100,
  outputTokens: 20,
  cachedInputTokens: 60,
  cacheWriteTokens: 10,
  reasoningTokens: 5,
  totalTokens: 120,
  costNanoUsd: 1000,
  ...changes,
})
type ToolStepRow = Extract<Step, { kind: 'tool' }>

export const newApproval = (changes: Partial<NewApproval> = {}): NewApproval => ({
  id: nextId('approval'),
  runId: 'held',
  askedBy: null,
  step: 1,
  agentId: 'main',
  sessionKey: 'agent:main:one',
  tool: 'exec',
  args: '{"command":"ls"}',
  origin: 'webhook agent',
  rule: 'tools.ask: "exec"',
  beyondRuleOfTwo: false,
  isNarrowed: false,
  codeHash: 'hash',
  address: { channel: 'pager', accountId: 'default', to: '42', threadId: null, route: null },
  expiresAt: start + 60_000,
  awaitedUntil: null,
  keepsContent: true,
  ...changes,
})

export const runEnd = (changes: Partial<RunEnd> = {}): RunEnd => ({
  at: start,
  status: 'succeeded',
  result: { reply: 'Done' },
  transcript: [],
  events: [],
  deliveries: [],
  eventsRendered: true,
  ...changes,
})

/** The end of a run that is cancelled before it starts. */
export const cancelledEnd = (at = start): RunEnd =>
  runEnd({ at, status: 'cancelled', result: {}, eventsRendered: false })

export const newRequest = (
  changes: Partial<NonNullable<AcceptCommand['request']>> = {},
): NonNullable<AcceptCommand['request']> => ({
  id: nextId('request'),
  hook: 'wake',
  client: '127.0.0.1',
  headers: '{"content-type":"application/json"}',
  body: '{}',
  ...changes,
})

export const newKey = (
  changes: Partial<NonNullable<AcceptCommand['idempotency']>> = {},
): NonNullable<AcceptCommand['idempotency']> => ({
  scope: 'agent',
  key: 'k',
  bodyHash: 'hash',
  expiresAt: start + 86_400_000,
  reply: '{"ok":true}',
  ...changes,
})

/** Accepts runs and claims those that may start. */
export async function startRuns(store: Store, ...runs: NewRun[]): Promise<StoredRun[]> {
  await store.accept({ at: start, runs })
  return claim(store)
}

export const claim = (store: Store, changes: Partial<Parameters<Store['claimRuns']>[0]> = {}): Promise<StoredRun[]> =>
  store.claimRuns({ owner: 'me', max: 100, at: start, leaseMs: 60_000, ...changes })

/** Accepts one run and claims it. */
export async function startRun(store: Store, changes: Partial<NewRun> = {}): Promise<StoredRun> {
  const [run] = await startRuns(store, newRun(changes))
  return run!
}

/** Adds deliveries to the outbox by ending a run. */
export async function post(store: Store, ...deliveries: NewDelivery[]): Promise<void> {
  const run = await startRun(store, { sessionKey: nextId('agent:main:sender') })
  await store.endRun(run, runEnd({ deliveries }))
}

export const claimDeliveries = (
  store: Store,
  changes: Partial<Parameters<Store['claimDeliveries']>[0]> = {},
): ReturnType<Store['claimDeliveries']> =>
  store.claimDeliveries({ owner: 'me', max: 100, at: start, leaseMs: 60_000, ...changes })

/** The one delivery that is due. */
export async function claimDelivery(store: Store): Promise<StoredDelivery> {
  const [delivery] = await claimDeliveries(store)
  return delivery!
}
