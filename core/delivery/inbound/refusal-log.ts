// Logs messages that the agent does not read, with the ids and the settings with which the operator could change that.
import type { ChannelConfig } from '../../config/schema/schema.ts'
import type { InboundMessage, Log } from '../../plugin/plugin.ts'
import { dotted } from '../../typebox.ts'
import type { Refusal } from './admission.ts'
import type { AccountRef } from '../../store/store.ts'

interface Refused {
  refusal: Refusal
  message: InboundMessage
  source: AccountRef
  section: ChannelConfig
}

const texts: Readonly<Record<Refusal, string>> = {
  sender: 'message ignored: its sender is not in allowFrom',
  group: 'message ignored: its group is closed',
  mention: 'message ignored: it does not mention the agent',
}

/** How many groups and senders are kept in memory. */
const maxKnown = 1000

/** People who talk to each other in a group do not fill the log: the first message says all. */
export function createRefusalLog(log: Log): (refused: Refused) => void {
  const known = new Set<string>()
  return (refused) => {
    const { refusal, message, source } = refused
    const { from, to, group, mentioned } = message
    const key = JSON.stringify([refusal, source, to, refusal === 'sender' && from.id])
    const isRepeated = group && !mentioned && known.has(key)
    if (known.size >= maxKnown) known.clear()
    known.add(key)
    const fields = { ...source, sender: from.id, ...(group && { group: to, setting: settingOf(refused) }) }
    log[isRepeated ? 'debug' : 'info'](fields, texts[refusal])
  }
}

/** The key that would let the agent read the messages of the group, or of this sender. */
function settingOf({ refusal, message: { to }, source: { channel, accountId }, section }: Refused): string {
  const own = section.accounts?.[accountId]
  const holder = (key: 'allowFrom' | 'groups') => [
    'channels',
    channel,
    ...(own?.[key] ? ['accounts', accountId] : []),
    key,
  ]
  if (refusal === 'sender') return dotted(holder('allowFrom'))
  return dotted([...holder('groups'), to, ...(refusal === 'mention' ? ['requireMention'] : [])])
}
