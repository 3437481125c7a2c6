// Records which sessions and runs hold external content, and which effects their tools have had since.
import type { ToolEffect } from '../../plugin.ts'
import type { EffectUse, Exposure } from '../store.ts'
import type { Transaction } from '../transaction.ts'

interface ExposureRow {
  fromStart: number
  readsPrivate: number
  sends: number
}

const getSql = 'SELECT from_start AS "fromStart", reads_private AS "readsPrivate", sends FROM exposure WHERE scope = ?'
const hasTranscriptSql = 'SELECT 1 FROM transcript WHERE session_key = ? LIMIT 1'
const insertSql = 'INSERT INTO exposure (scope, from_start, reads_private, sends) VALUES (?, ?, ?, 0)'
const updateSql = 'UPDATE exposure SET reads_private = ?, sends = ? WHERE scope = ?'

export async function getExposure(tx: Transaction, scope: string): Promise<Exposure | undefined> {
  const [row] = await tx.all<ExposureRow>(getSql, scope)
  return row && { fromStart: row.fromStart === 1, readsPrivate: row.readsPrivate === 1, sends: row.sends === 1 }
}

/** Marks a scope permanently. An earlier conversation in it is private, so the scope counts as having read it. */
export async function exposeScope(tx: Transaction, scope: string): Promise<Exposure> {
  const known = await getExposure(tx, scope)
  if (known) return known
  const fromStart = (await tx.all(hasTranscriptSql, scope)).length === 0
  await tx.run(insertSql, scope, Number(fromStart), Number(!fromStart))
  return { fromStart, readsPrivate: !fromStart, sends: false }
}

/** Checks and records in one transaction: of two concurrent calls, the second sees the effects of the first. */
export async function useEffects(
  tx: Transaction,
  { scopes, effects, force = false }: EffectUse,
): Promise<ToolEffect | undefined> {
  const exposures: [scope: string, exposure: Exposure][] = []
  for (const scope of scopes) exposures.push([scope, await exposeScope(tx, scope)])
  const [reads, sends] = [effects.includes('reads-private'), effects.includes('sends')]
  if (!force && reads && exposures.some(([, used]) => used.sends)) return 'sends'
  if (!force && sends && exposures.some(([, used]) => used.readsPrivate)) return 'reads-private'
  for (const [scope, used] of exposures) {
    const [nowReads, nowSends] = [used.readsPrivate || reads, used.sends || sends]
    if (nowReads !== used.readsPrivate || nowSends !== used.sends)
      await tx.run(updateSql, Number(nowReads), Number(nowSends), scope)
  }
  return undefined
}
