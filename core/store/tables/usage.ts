// The usage of models, added up by quarter-hour: what it was for in one table, and the sessions in another. It is
// counted in the transaction that stores a step, and stays when runs and steps are purged.
import type { RunKind, RunSpec, StepUsage } from '../run-spec.ts'
import type { Insertion, Row, Timestamp, Transaction, Value } from '../transaction.ts'

export const usageWrites = { purgeUsage }
export const usageReads = { listUsage, listSessionUsage }

/** The offsets of all time zones are multiples of it, so that days and hours of each zone can be added up from it. */
export const usagePeriodMs = 15 * 60 * 1000

/** What calls of models used. */
export interface UsageSums {
  steps: number
  /** How many of the steps have no known price. */
  unpricedSteps: number
  inputTokens: number
  outputTokens: number
  cachedInputTokens: number
  cacheWriteTokens: number
  reasoningTokens: number
  /** In billionths of a US dollar. */
  costNanoUsd: number
}

/** What a run is for, as far as its usage is counted by it. */
export interface UsageSource {
  agentId: string
  /** What started the work. Runs that another run started belong to the webhook or channel that the work goes back to. */
  kind: RunKind
  /** The name of the hook or channel; empty for other kinds. */
  name: string
  sessionKey: string
}

/** The usage of a quarter-hour. */
export interface UsageRow extends Omit<UsageSource, 'sessionKey'>, UsageSums {
  at: Timestamp
  /** `<provider>/<model>`. */
  model: string
}

export interface SessionUsageRow extends UsageSums {
  at: Timestamp
  sessionKey: string
}

/** A run whose usage is counted. */
export interface CountedRun {
  agentId: string
  sessionKey: string
  spec: string
}

function toSource({ agentId, sessionKey, spec }: CountedRun): UsageSource {
  const { origin } = JSON.parse(spec) as Pick<RunSpec, 'origin'>
  const { kind, name } = origin.root ?? origin
  return { agentId, kind, name: kind === 'hook' || kind === 'channel' ? name : '', sessionKey }
}

const sumColumns = {
  steps: 'steps',
  unpriced_steps: 'unpricedSteps',
  input_tokens: 'inputTokens',
  output_tokens: 'outputTokens',
  cached_input_tokens: 'cachedInputTokens',
  cache_write_tokens: 'cacheWriteTokens',
  reasoning_tokens: 'reasoningTokens',
  cost_nano_usd: 'costNanoUsd',
} as const satisfies Record<string, keyof UsageSums>

interface UsageTable {
  name: string
  /** The columns of its key, and the fields of a row that have them. */
  key: Readonly<Record<string, string>>
}

const usageTable: UsageTable = {
  name: 'usage',
  key: { at: 'at', agent_id: 'agentId', kind: 'kind', name: 'name', model: 'model' },
}
const sessionTable: UsageTable = { name: 'session_usage', key: { at: 'at', session_key: 'sessionKey' } }

function insertionOf({ name, key }: UsageTable): Insertion {
  const [keys, sums] = [Object.keys(key), Object.keys(sumColumns)]
  const columns = keys.map((column) => [column, column === 'at' ? 'integer' : 'text'] as const)
  const added = sums.map((column) => `${column} = ${name}.${column} + excluded.${column}`)
  return {
    table: name,
    columns: Object.fromEntries([...columns, ...sums.map((column) => [column, 'integer'] as const)]),
    onConflict: `ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${added.join(', ')}`,
    keyColumns: keys.length,
    atEnd: 'sum',
  }
}

const [usageInsertion, sessionInsertion] = [usageTable, sessionTable].map(insertionOf) as [Insertion, Insertion]

/** A call of a model. */
export interface UsedCall {
  at: Timestamp
  model: string
  usage: StepUsage
}

/** Counts calls that were not counted before. */
export async function countUsage(tx: Transaction, run: CountedRun, calls: readonly UsedCall[]): Promise<void> {
  if (calls.length === 0) return
  const { agentId, kind, name, sessionKey } = toSource(run)
  for (const { at, model, usage } of calls) {
    const [period, sums] = [at - (at % usagePeriodMs), toSums(usage)]
    await tx.insert(usageInsertion, [[period, agentId, kind, name, model, ...sums]])
    await tx.insert(sessionInsertion, [[period, sessionKey, ...sums]])
  }
}

function toSums({ costNanoUsd, ...tokens }: StepUsage): Row {
  const sums: Partial<UsageSums> = {
    ...tokens,
    steps: 1,
    unpricedSteps: Number(costNanoUsd === undefined),
    costNanoUsd: costNanoUsd ?? 0,
  }
  return Object.values(sumColumns).map((field) => sums[field] ?? 0)
}

/** A part of the usage of some time, in the order of the table. */
interface UsageRange<Item> {
  from: Timestamp
  /** Exclusive. */
  until: Timestamp
  /** The last row of the part before. */
  after?: Item | undefined
  limit: number
}

export async function listUsage(tx: Transaction, range: UsageRange<UsageRow>): Promise<UsageRow[]> {
  return await listRows(tx, usageTable, range)
}

export async function listSessionUsage(
  tx: Transaction,
  range: UsageRange<SessionUsageRow>,
): Promise<SessionUsageRow[]> {
  return await listRows(tx, sessionTable, range)
}

async function listRows<Item extends { at: Timestamp }>(
  tx: Transaction,
  table: UsageTable,
  { from, until, after, limit }: UsageRange<Item>,
): Promise<Item[]> {
  const start = after
    ? Object.values(table.key).map((field) => after[field as keyof Item] as Value)
    : Object.keys(table.key).map((column) => (column === 'at' ? from : ''))
  return await tx.all<Item>(listSql(table), ...start, until, limit)
}

/** No agent has an empty name, so that the first row of a time follows a key with empty texts. */
function listSql({ name, key }: UsageTable): string {
  const keys = Object.keys(key).join(', ')
  const fields = Object.entries({ ...key, ...sumColumns }).map(([column, field]) => `${column} AS "${field}"`)
  const placeholders = Object.keys(key).map(() => '?')
  return `SELECT ${fields.join(', ')} FROM ${name}
    WHERE (${keys}) > (${placeholders.join(', ')}) AND at < ? ORDER BY ${keys} LIMIT ?`
}

export interface UsagePurge {
  /** Usage before this time is deleted. */
  before: Timestamp
  /** The same for the usage of sessions. */
  sessionsBefore: Timestamp
}

/** The most rows of a table that are deleted in one step of the retention. */
const maxRows = 500

function purgeSql({ name, key }: UsageTable): string {
  const keys = Object.keys(key).join(', ')
  return `DELETE FROM ${name} WHERE (${keys}) IN (SELECT ${keys} FROM ${name} WHERE at < ? ORDER BY ${keys} LIMIT ?)`
}

/** Deletes a few of the oldest rows. @returns how many; 0: nothing is left to delete */
export async function purgeUsage(tx: Transaction, { before, sessionsBefore }: UsagePurge): Promise<number> {
  const usage = await tx.run(purgeSql(usageTable), before, maxRows)
  return usage + (await tx.run(purgeSql(sessionTable), sessionsBefore, maxRows))
}
