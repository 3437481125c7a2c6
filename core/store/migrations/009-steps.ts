// Steps: what the attempts at a run did, and how often a run was attempted without getting further.
import type { Json } from '../../plugin/plugin.ts'
import type { Row, Transaction } from '../transaction.ts'
import type { Dialect } from './dialect.ts'

export const steps = ({ sequence, integer, text, table }: Dialect): string[] => [
  // The columns of texts are the last ones, so that a list of steps does not read them.
  `CREATE TABLE step (
    seq ${sequence}, run_id ${text} NOT NULL, number ${integer} NOT NULL, attempt ${integer} NOT NULL,
    kind ${text} NOT NULL, status ${text} NOT NULL, started_at ${integer} NOT NULL, ended_at ${integer},
    detail ${text} NOT NULL, content ${text}, message ${text}
  )${table}`,
  `CREATE UNIQUE INDEX step_of_run ON step (run_id, number)`,
  `ALTER TABLE run ADD COLUMN steps ${integer} NOT NULL DEFAULT 0`,
  `ALTER TABLE run ADD COLUMN last_progress ${integer} NOT NULL DEFAULT 0`,
  `ALTER TABLE run ADD COLUMN attempts ${text} NOT NULL DEFAULT ''`,
]

interface WaitingRun {
  id: string
  result: string
  at: number
}

interface Message {
  role: string
  content: Json
}

/** Runs that were retried kept the messages of their attempts in their result. */
export async function convertProgress(tx: Transaction): Promise<void> {
  const runs = await tx.all<WaitingRun>(
    `SELECT id, result, created_at AS at FROM run WHERE status IN ('queued', 'running') AND result LIKE '%"progress"%'`,
  )
  for (const { id, result, at } of runs) {
    const { progress, ...rest } = JSON.parse(result) as { progress?: Message[] }
    if (!progress) continue
    const rows = progress
      .flatMap((message) => toSteps(message))
      .map((step, index) => toRow({ id, at }, index + 1, step))
    for (const row of rows) await tx.run(insertSql, ...row)
    await tx.run('UPDATE run SET result = ?, steps = ? WHERE id = ?', JSON.stringify(rest), rows.length, id)
  }
}

interface Step {
  kind: 'model' | 'tool'
  tool?: string
  message: Json
}

const toSteps = ({ role, content }: Message): Step[] =>
  role === 'tool'
    ? (content as readonly { toolName: string }[]).map((part) => ({
        kind: 'tool',
        tool: part.toolName,
        message: part as unknown as Json,
      }))
    : [{ kind: 'model', message: { role, content } }]

const insertSql = `
  INSERT INTO step (run_id, number, attempt, kind, status, started_at, ended_at, detail, message)
  VALUES (?, ?, 1, ?, 'succeeded', ?, ?, ?, ?)`

const toRow = ({ id, at }: { id: string; at: number }, number: number, { kind, tool, message }: Step): Row => [
  id,
  number,
  kind,
  at,
  at,
  JSON.stringify(tool === undefined ? {} : { tool }),
  JSON.stringify(message),
]
