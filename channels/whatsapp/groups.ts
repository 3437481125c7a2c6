// Remembers who is in a group. Without it, each message to a group asks the server, which limits such questions.
import type { BinaryNode, GroupMetadata, WASocket } from 'baileys'
import { keepLatest } from 'svc-gateway/kit'

const mostGroups = 100
/** In case that a change was not reported. */
const longestMs = 5 * 60_000

/** Of one connection: what happens while there is none is not reported. */
export function createGroups() {
  const known = new Map<string, { at: number; metadata: GroupMetadata }>()
  const opened = Promise.withResolvers<WASocket>()
  return {
    async get(group: string): Promise<GroupMetadata> {
      const found = known.get(group)
      if (found && found.at > Date.now() - longestMs) return found.metadata
      const metadata = await (await opened.promise).groupMetadata(group)
      keepLatest(known, [group, { at: Date.now(), metadata }], mostGroups)
      return metadata
    },
    listen(socket: WASocket): void {
      opened.resolve(socket)
      socket.ws.prependListener(
        'CB:notification,type:w:gp2',
        ({ attrs }: BinaryNode) => void known.delete(attrs.from ?? ''),
      )
    },
  }
}
