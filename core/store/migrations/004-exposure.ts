// Records which sessions and runs hold external content, and which effects their tools have had since.
import type { Dialect } from './dialect.ts'

export const exposure = ({ integer, text, keyed }: Dialect): string[] => [
  // `scope` is a session key or the id of a run. A table of its own, so that accepting a run writes nothing here.
  `CREATE TABLE exposure (
    scope ${text} NOT NULL PRIMARY KEY, from_start ${integer} NOT NULL, reads_private ${integer} NOT NULL,
    sends ${integer} NOT NULL
  )${keyed}`,
  // What tools did in earlier webhook sessions is unknown, so those sessions count as having read private data.
  `INSERT INTO exposure (scope, from_start, reads_private, sends)
    SELECT DISTINCT run.session_key, 1, 1, 0
    FROM run JOIN session ON session.key = run.session_key WHERE run.kind = 'hook'`,
]
