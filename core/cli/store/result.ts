// Prints what a migration would copy, and what it has copied.
import type { ComparedTable, CopyPreview, CopyResult } from '../../store/copy/copy-store.ts'
import { printJson, printList } from '../terminal.ts'
import { formatCount } from '../progress.ts'

export async function printPreview(preview: CopyPreview, { json }: { json?: boolean | undefined }): Promise<void> {
  if (json) return printJson({ type: 'preview', ...preview })
  await printList(preview.tables, {
    noun: 'tables',
    columns: { TABLE: ({ name }) => name, ROWS: ({ rows }) => formatCount(rows) },
  })
  process.stdout.write(`${describeTarget(preview)}\n`)
}

function describeTarget({ from, tables, to }: CopyPreview): string {
  const total = tables.reduce((sum, { rows }) => sum + rows, 0)
  if (!to || (to.rows === 0 && to.copyOf === undefined))
    return `Would copy ${countRows(total)} of ${from}. The new store is empty. Nothing was copied.`
  return to.copyOf === undefined
    ? `${to.location} already holds ${countRows(to.rows)}; --to must be an empty database or a new file.`
    : `${to.location} holds ${countRows(to.rows)} of an unfinished copy of ${to.copyOf}. Nothing was copied.`
}

export async function printResult({ tables, from, to }: CopyResult, { json }: { json?: boolean | undefined }) {
  if (json) {
    for (const table of tables) printJson({ type: 'table', ...table })
    return printJson({ type: 'result', from, to, isEqual: tables.every(({ isEqual }) => isEqual) })
  }
  await printList(tables, {
    noun: 'tables',
    columns: {
      TABLE: ({ name }) => name,
      ROWS: (table) => formatCount(table.from.rows),
      CHECKSUM: (table) => table.from.checksum,
      COPY: (table) => (table.isEqual ? 'equal' : describeDifference(table)),
    },
  })
}

const describeDifference = ({ to }: ComparedTable): string => `differs: ${countRows(to.rows)}, ${to.checksum}`

const countRows = (count: number): string => `${formatCount(count)} row${count === 1 ? '' : 's'}`
