// Decides whether those who started a run may still do so: a client or a sender may have been removed or narrowed since.
import { hasAccount, resolveAccess } from '../config/channels/access.ts'
import { agentIdsOf, defaultAgentId } from '../config/schema/agents.ts'
import type { ClientConfig, Config } from '../config/schema/schema.ts'
import { admit, groupOf, idsOf, isExternal, type Refusal } from '../delivery/inbound/admission.ts'
import type { Pairing } from '../delivery/inbound/pairing.ts'
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
  isApproved: Pairing['isApproved']
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

async function findSenderLoss(deps: StarterRightsDeps, { sender, agentId }: Starter): Promise<string | undefined> {
  if (!sender) return undefined
  const { channels, agents } = deps.config()
  const { channel, accountId, isTrusted } = sender
  const section = channels[channel]
  if (!section?.enabled || !hasAccount(section, accountId))
    return `The account "${accountId}" of ${channel} is not configured any more.`
  const access = resolveAccess(section, accountId)
  const admission = await admit({
    access,
    message: { ...sender, mentioned: true },
    isApproved: () => deps.isApproved(sender, idsOf(sender)),
  })
  if ('refusal' in admission) return describeRefusal(sender, admission.refusal)
  if (isTrusted && isExternal(admission, access, sender))
    return `The sender "${sender.from.id}" is a stranger on ${channel} now.`
  const wanted = (groupOf(access, sender)?.agentId ?? access.agentId)?.trim().toLowerCase()
  const answering = agentIdsOf(agents).find((id) => id === wanted) ?? defaultAgentId(agents)
  return answering === agentId ? undefined : `The agent "${answering}" answers ${describePlace(sender)} now.`
}

const describeRefusal = (sender: MessageSender, refusal: Refusal): string =>
  refusal === 'group'
    ? `The group "${sender.to}" on ${sender.channel} is closed now.`
    : `The sender "${sender.from.id}" may not write to the agent on ${sender.channel} any more.`

const describePlace = ({ group, to, from, channel }: MessageSender): string =>
  group ? `in the group "${to}" on ${channel}` : `the sender "${from.id}" on ${channel}`
