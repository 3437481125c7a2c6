// Which sessions and runs hold external content, and what their tools have done since.
import type { Dialect } from './dialect.ts'

export const exposure = ({ integer, keyed }: Dialect): string[] => [
  // `scope` is a session key, or the id of one run. It stands apart from both: accepting a run writes nothing here.
  `CREATE TABLE exposure (
    scope TEXT NOT NULL PRIMARY KEY, from_start ${integer} NOT NULL, reads_private ${integer} NOT NULL, sends ${integer} NOT NULL
  )${keyed}`,
  // What tools did in earlier sessions of webhooks is not known, so they count as having read.
  `INSERT INTO exposure (scope, from_start, reads_private, sends)
    SELECT DISTINCT run.session_key, 1, 1, 0 FROM run JOIN session ON session.key = run.session_key WHERE run.kind = 'hook'`,
]
