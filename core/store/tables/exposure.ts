// Records which sessions and runs hold external content, and which effects their tools have had since.
import type { ToolEffect } from '../../plugin/plugin.ts'
import type { Transaction } from '../transaction.ts'

export const exposureWrites = { useEffects }
export const exposureReads = { getExposure }

/** What the tools of a session, or of one run, have done since it holds external content. */
export interface Exposure {
  /** True: the transcript was empty when the external content arrived. */
  fromStart: boolean
  readsPrivate: boolean
  sends: boolean
}

/** The effects of a tool that is about to be called. */
export interface EffectUse {
  /** Session keys and ids of runs whose effects count together. */
  scopes: readonly string[]
  effects: readonly ToolEffect[]
  /** True: the effects are recorded whatever the scopes have done before. */
  force?: boolean | undefined
}

interface ExposureRow {
  fromStart: number
  readsPrivate: number
  sends: number
}

const getSql = 'SELECT from_start AS "fromStart", reads_private AS "readsPrivate", sends FROM exposure WHERE scope = ?'
const hasTranscriptSql = 'SELECT 1 FROM transcript WHERE session_key = ? LIMIT 1'
const insertSql = 'INSERT INTO exposure (scope, from_start, reads_private, sends) VALUES (?, ?, ?, 0)'
const updateSql = 'UPDATE exposure SET reads_private = ?, sends = ? WHERE scope = ?'

/** Undefined when the session or run holds no external content. */
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

/**
 * Records the effects of a tool in all scopes, unless one of them has had the other effect before. In either case the
 * scopes are marked as holding external content. Of two concurrent calls, the second sees the effects of the first.
 * @returns that other effect; then no effect was recorded
 */
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
