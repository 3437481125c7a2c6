// Removes the choices of a message that was sent, as far as its platform allows it.
import { withDeadline } from '../../deadline.ts'
import { describeThrown } from '../../errors.ts'
import type { Log } from '../../plugin/plugin.ts'
import type { StoredDelivery } from '../../store/store.ts'
import type { Link } from '../connections/connections.ts'
import { splitIntoChunks } from '../format/chunks.ts'

interface Removal {
  link: Pick<Link, 'channel' | 'connection'> | undefined
  timeoutMs: number
  log: Log
}

/** Never rejects: a choice that stays can be picked, and the answer says that it is too late. */
export async function removeChoices(delivery: StoredDelivery, { link, timeoutMs, log }: Removal): Promise<void> {
  const { choices, platformId: id, to, threadId, route } = delivery
  const { channel, connection } = link ?? {}
  if (!choices || id === null || !channel || !connection?.removeChoices) return
  try {
    const chunk = (await splitIntoChunks(delivery.text, channel.limits)).at(-1)
    if (!chunk) return
    const place = { to, ...(threadId !== null && { threadId }), ...(route !== null && { route }) }
    const reason = () => new Error('the channel did not answer in time')
    await withDeadline(
      { ms: timeoutMs, reason },
      async () => await connection.removeChoices?.({ id, ...place, ...chunk }),
    )
  } catch (error) {
    log.debug(describeThrown(error), 'the choices of a message could not be removed')
  }
}
