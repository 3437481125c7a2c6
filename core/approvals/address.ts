// Where the approvers of a call are asked. If the gateway that asks lacks their channel, another one resolves the address.
import type { ApprovalAddress, Store, StoredApproval } from '../store/store.ts'

/**
 * The address of the question. While no gateway has resolved it, it has `wanted`. Null: nobody was asked in a chat, so
 * nobody needs to hear how the call ended.
 */
export async function readAddress(
  { getDelivery }: Pick<Store, 'getDelivery'>,
  { id, address }: Pick<StoredApproval, 'id' | 'address'>,
): Promise<ApprovalAddress | null> {
  if (!address?.wanted) return address
  // The question has the id of its approval.
  const question = await getDelivery(id)
  if (!question) return null
  if (question.wanted) return question.status === 'failed' ? null : address
  const { channel, accountId, to, threadId, route } = question
  return { channel, accountId, to, threadId, route }
}
