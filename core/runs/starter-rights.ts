// Decides whether those who started a run may still do so: a client or a sender may have been removed or narrowed since.
import { resolveAccess } from '../config/channels/access.ts'
import { agentIdsOf, defaultAgentId } from '../config/schema/agents.ts'
import type { ClientConfig, Config } from '../config/schema/schema.ts'
import { groupOf } from '../delivery/inbound/admission.ts'
import type { SenderRights } from '../delivery/inbound/sender-rights.ts'
import { describeReach, reaches, refusalOf } from '../http/access.ts'
import type { Initiator, MessageSender } from '../store/provenance.ts'
import type { Origin, RunError } from '../store/run-spec.ts'

export interface StarterRights {
  /** Why the run must end, by the configuration in use. Undefined: it may go on. */
  findLoss(run: { agentId: string; spec: { origin: Origin } }): Promise<RunError | undefined>
}

interface StarterRightsDeps {
  /** The configuration in use. */
  config(): Pick<Config, 'gateway' | 'channels' | 'agents'>
  senderRights: Pick<SenderRights, 'findLoss'>
  /** The time of the store. */
  now(): number
}

export function createStarterRights(deps: StarterRightsDeps): StarterRights {
  return {
    findLoss: async ({ agentId, spec: { origin } }) => {
      const { client, sender, initiators = [] } = origin
      for (const starter of [{ agentId, client, sender }, ...initiators]) {
        const message = findClientLoss(deps, starter) ?? (await findSenderLoss(deps, starter))
        if (message !== undefined) return { type: 'rights_removed', message }
      }
      return undefined
    },
  }
}

type Starter = Pick<Initiator, 'agentId' | 'client' | 'sender'>

function findClientLoss({ config, now }: StarterRightsDeps, { client: name, agentId }: Starter): string | undefined {
  if (name === undefined) return undefined
  const client = config().gateway.auth.clients.find((one) => one.name === name)
  if (!client) return `gateway.auth.clients has no client "${name}" any more.`
  if (isExpired(client, now())) return `The token of the client "${name}" has expired.`
  const refusal = refusalOf(client, { needs: 'operate', scope: 'agents' })
  return refusal ?? (reaches(client, agentId) ? undefined : describeReach(client))
}

const isExpired = ({ notAfter }: ClientConfig, now: number): boolean =>
  notAfter !== undefined && Date.parse(notAfter) <= now

async function findSenderLoss(
  { config, senderRights }: StarterRightsDeps,
  { sender, agentId }: Starter,
): Promise<string | undefined> {
  if (!sender) return undefined
  const loss = await senderRights.findLoss({ sender })
  if (loss !== undefined) return loss
  const { channels, agents } = config()
  const access = resolveAccess(channels[sender.channel] as Config['channels'][string], sender.accountId)
  const wanted = (groupOf(access, sender)?.agentId ?? access.agentId)?.trim().toLowerCase()
  const answering = agentIdsOf(agents).find((id) => id === wanted) ?? defaultAgentId(agents)
  return answering === agentId ? undefined : `The agent "${answering}" answers ${describePlace(sender)} now.`
}

const describePlace = ({ group, to, from, channel }: MessageSender): string =>
  group ? `in the group "${to}" on ${channel}` : `the sender "${from.id}" on ${channel}`
