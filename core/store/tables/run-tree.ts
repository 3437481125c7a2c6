// What a run and its subagents have done together: their messages, their approvals, and the runs that they have started.
import type { Transaction } from '../transaction.ts'

export const runTreeReads = { countRunTree }

/** The counts of the whole tree of runs that a run belongs to. */
export interface RunTreeCounts {
  /** The agent of the first run, which no other run has started. */
  rootAgentId: string
  /** The messages that tools have sent, whatever became of them. */
  messages: number
  approvals: number
  /** The runs that tools have started. */
  startedRuns: number
}

/** Bounds the way up, should rows ever form a circle. Work is handed on less often. */
const maxDepth = 32

/**
 * The ids of replies begin with that of their run, the ids of messages that tools send do not. CROSS JOIN: SQLite then
 * reads the tree first.
 */
const countSql = `
  WITH RECURSIVE
    above (id, parent_id, agent_id, depth) AS (
      SELECT id, parent_id, agent_id, 0 FROM run WHERE id = ?
      UNION ALL
      SELECT run.id, run.parent_id, run.agent_id, above.depth + 1
      FROM above JOIN run ON run.id = above.parent_id WHERE above.depth < ${maxDepth}),
    root AS (SELECT id, agent_id FROM above ORDER BY depth DESC LIMIT 1),
    tree (id) AS (
      SELECT id FROM root
      UNION
      SELECT run.id FROM tree JOIN run ON run.parent_id = tree.id)
  SELECT
    (SELECT agent_id FROM root) AS "rootAgentId",
    (SELECT count(*) FROM tree CROSS JOIN outbox
      WHERE outbox.run_id = tree.id AND substr(outbox.id, 1, length(tree.id) + 1) <> tree.id || ':') AS messages,
    (SELECT count(*) FROM tree CROSS JOIN approval WHERE approval.run_id = tree.id) AS approvals,
    (SELECT count(*) FROM tree) - 1 AS "startedRuns"
  FROM root`

/** Undefined: there is no such run. */
export async function countRunTree(tx: Transaction, runId: string): Promise<RunTreeCounts | undefined> {
  const [row] = await tx.all<RunTreeCounts>(countSql, runId)
  return row
}
