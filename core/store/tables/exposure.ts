// Records which runs hold external content, which effects their tools have had since, and what they have read.
import type { ToolEffect } from '../../plugin/plugin.ts'
import { type Provenance, readProvenance, writeProvenance } from '../provenance.ts'
import type { Transaction } from '../transaction.ts'

export const exposureWrites = { useEffects, recordProvenance }
export const exposureReads = { getExposure }

/** What the tools of a run have done since it holds external content. */
export interface Exposure {
  readsPrivate: boolean
  sends: boolean
  /** Of what its tools have returned to it. */
  provenance?: Provenance | undefined
}

/** The effects of a tool that is about to be called. */
export interface EffectUse {
  /** Ids of runs whose effects count together. */
  scopes: readonly string[]
  effects: readonly ToolEffect[]
  /** True: the effects are recorded whatever the scopes have done before. */
  force?: boolean | undefined
}

interface ExposureRow {
  readsPrivate: number
  sends: number
  provenance: string | null
}

const getSql = 'SELECT reads_private AS "readsPrivate", sends, provenance FROM exposure WHERE scope = ?'
const insertSql = 'INSERT INTO exposure (scope, reads_private, sends) VALUES (?, 0, 0) ON CONFLICT (scope) DO NOTHING'
const updateSql = 'UPDATE exposure SET reads_private = ?, sends = ? WHERE scope = ?'
const provenanceSql = `
  INSERT INTO exposure (scope, reads_private, sends, provenance) VALUES (?, 0, 0, ?)
  ON CONFLICT (scope) DO UPDATE SET provenance = excluded.provenance`

/** Undefined when nothing is recorded of the run. */
export async function getExposure(tx: Transaction, scope: string): Promise<Exposure | undefined> {
  const [row] = await tx.all<ExposureRow>(getSql, scope)
  return (
    row && {
      readsPrivate: row.readsPrivate === 1,
      sends: row.sends === 1,
      provenance: readProvenance(row.provenance),
    }
  )
}

/** Replaces what is known of the texts that the tools of a run have returned to it. */
export async function recordProvenance(tx: Transaction, scope: string, provenance: Provenance): Promise<void> {
  await tx.run(provenanceSql, scope, writeProvenance(provenance))
}

/**
 * Records the effects of a tool in all scopes, unless one of them has had the other effect before. Of two concurrent calls, the second sees the effects of the first.
 * @returns that other effect; then no effect was recorded
 */
export async function useEffects(
  tx: Transaction,
  { scopes, effects, force = false }: EffectUse,
): Promise<ToolEffect | undefined> {
  const exposures: [scope: string, exposure: Exposure][] = []
  for (const scope of scopes) {
    await tx.run(insertSql, scope)
    exposures.push([scope, (await getExposure(tx, scope)) ?? { readsPrivate: false, sends: false }])
  }
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
