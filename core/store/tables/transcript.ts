// The transcripts of sessions: the messages of their turns, as the model reads them.
import type { Json } from '../../plugin/plugin.ts'
import type { Timestamp, Transaction } from '../transaction.ts'
import { listPage, mapPage, type Page, type PageRequest } from './page.ts'

/** The operations of the store in this file. */
export const transcriptReads = { listTranscript }

/** One message of a transcript, in the AI SDK's shape. */
export interface NewTranscriptEntry {
  message: Json
}

export interface StoredTranscriptEntry extends NewTranscriptEntry {
  seq: number
  runId: string
  at: Timestamp
}

const appendSql = 'INSERT INTO transcript (session_key, run_id, message, at) VALUES (?, ?, ?, ?)'

export async function appendTranscript(
  tx: Transaction,
  { sessionKey, runId, at }: { sessionKey: string; runId: string; at: Timestamp },
  entries: readonly NewTranscriptEntry[],
): Promise<void> {
  for (const { message } of entries) await tx.run(appendSql, sessionKey, runId, JSON.stringify(message), at)
}

type TranscriptRow = Omit<StoredTranscriptEntry, 'message'> & { message: string }

/** The transcript of a session, newest entry first. */
export async function listTranscript(
  tx: Transaction,
  sessionKey: string,
  page: PageRequest,
): Promise<Page<StoredTranscriptEntry>> {
  const listing = {
    table: 'transcript',
    keys: 'seq',
    where: ['session_key = ?', sessionKey] as const,
    columns: 'seq, run_id AS "runId", message, at',
    sizeOf: ({ message }: TranscriptRow) => message.length,
  }
  return mapPage(await listPage(tx, listing, page), ({ message, ...row }) => ({
    ...row,
    message: JSON.parse(message) as Json,
  }))
}
