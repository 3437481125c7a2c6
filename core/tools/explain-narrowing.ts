// Says in words which texts restrict a turn, and how that can be lifted with this configuration.
import type { Config } from '../config/schema/schema.ts'
import type { Provenance } from '../store/provenance.ts'
import { isFromTool } from './external-texts.ts'
import { describeNarrowing } from './narrow.ts'

export interface NarrowedTurn {
  agentId: string
  /** Who starts it: a person in a chat of the gateway or on a channel, a heartbeat, or something else. */
  starter: 'chat' | 'channel' | 'heartbeat' | 'other'
  /** Of what it reads, without who starts it. */
  texts: Pick<Provenance, 'outside' | 'authors'>
}

/** Returns undefined if no text restricts the turn. */
export type ExplainNarrowing = (turn: NarrowedTurn) => string | undefined

interface ExplainDeps {
  config: Pick<Config, 'tools' | 'agents'>
  /** Whether somebody can be asked to approve a call of this agent on a channel. */
  canAsk(agentId: string): boolean
}

export function createExplainNarrowing({ config, canAsk }: ExplainDeps): ExplainNarrowing {
  const listRemedies = ({ agentId, starter, texts: { outside } }: NarrowedTurn): string[] => {
    const isPerson = starter === 'chat' || starter === 'channel'
    const canApprove = starter === 'chat' || canAsk(agentId)
    const hasOwnList = config.agents[agentId]?.tools?.byOrigin?.hook?.allow !== undefined
    return [
      ...(isPerson ? [`${canApprove ? '' : 'set approvals.channel and '}approve a call for the whole turn`] : []),
      ...(isPerson || starter === 'heartbeat' ? ['begin a clean conversation with /new'] : []),
      ...(outside.some(isFromTool) ? ['name tools that you trust in tools.trusted'] : []),
      ...(outside.length > 0 && !isPerson
        ? [`allow tools in ${hasOwnList ? `agents.${agentId}.` : ''}tools.byOrigin.hook.allow`]
        : []),
    ]
  }

  return (turn) => {
    const { starter, texts } = turn
    const isPerson = starter === 'chat' || starter === 'channel'
    const isRuleOfTwo = isPerson && !config.tools.narrowChats
    const counted = isRuleOfTwo ? { ...texts, authors: [] } : texts
    if (counted.outside.length + counted.authors.length === 0) return undefined
    const because = `because it reads ${describeNarrowing(counted)}`
    const cause = isRuleOfTwo
      ? `It may read private data or send data out, not both, ${because}.`
      : `It may do less, ${because}.`
    const remedies = listRemedies(turn)
    return remedies.length === 0 ? cause : `${cause} To lift this, ${remedies.join(', or ')}.`
  }
}
