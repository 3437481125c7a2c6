// Decides whether who wrote a message could still write it: a sender may have been removed or narrowed since.
import { hasAccount, resolveAccess } from '../../config/channels/access.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { MessageSender } from '../../store/provenance.ts'
import { idsOf, isExternal, judge, type Admission, type Refusal } from './admission.ts'
import type { Pairing } from './pairing.ts'

export interface SenderRights {
  /** Why the message would not be read in this way any more: a sentence. Undefined: it would be. */
  findLoss(written: Written): Promise<string | undefined>
  /** The same from memory. Until the approvals of an account are read, its senders count as approved. */
  findKnownLoss(written: Written): string | undefined
}

export interface Written {
  sender: MessageSender
  /** The session to which the message went. Absent: it does not matter. */
  sessionKey?: string | undefined
}

interface SenderRightsDeps {
  /** The configuration in use. */
  config(): Pick<Config, 'channels'>
  pairing: Pick<Pairing, 'isApproved' | 'isKnownAsApproved'>
}

export function createSenderRights({ config, pairing }: SenderRightsDeps): SenderRights {
  return {
    findLoss: async (written) => {
      const { approved, unapproved } = findLosses(config(), written)
      const { sender } = written
      return approved === unapproved || !(await pairing.isApproved(sender, idsOf(sender))) ? unapproved : approved
    },
    findKnownLoss: (written) => {
      const { approved, unapproved } = findLosses(config(), written)
      const { sender } = written
      return approved === unapproved || !pairing.isKnownAsApproved(sender, idsOf(sender)) ? unapproved : approved
    },
  }
}

/** The loss of a sender whom the operator has approved, and of one who is not approved. */
interface Losses {
  approved: string | undefined
  unapproved: string | undefined
}

function findLosses({ channels }: Pick<Config, 'channels'>, { sender, sessionKey }: Written): Losses {
  const { channel, accountId, group, isTrusted } = sender
  const section = channels[channel]
  if (!section?.enabled || !hasAccount(section, accountId)) {
    const loss = `The account "${accountId}" of ${channel} is not configured any more.`
    return { approved: loss, unapproved: loss }
  }
  const access = resolveAccess(section, accountId)
  // A stranger may have written to the main session while strangers shared it.
  const isApart = sessionKey === undefined || group !== undefined || sessionKey.includes(':stranger:')
  const mustBeTrusted = isTrusted || (!isApart && access.directSession !== 'shared')
  const lossOf = (admission: Admission): string | undefined => {
    if ('refusal' in admission) return describeRefusal(sender, admission.refusal)
    const isStranger = mustBeTrusted && isExternal(admission, access, sender)
    return isStranger ? `The sender "${sender.from.id}" is a stranger on ${channel} now.` : undefined
  }
  const { approved, unapproved } = judge(access, { ...sender, mentioned: true })
  return { approved: lossOf(approved), unapproved: lossOf(unapproved) }
}

const describeRefusal = (sender: MessageSender, refusal: Refusal): string =>
  refusal === 'group'
    ? `The group "${sender.to}" on ${sender.channel} is closed now.`
    : `The sender "${sender.from.id}" may not write to the agent on ${sender.channel} any more.`
