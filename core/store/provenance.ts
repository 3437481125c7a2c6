// Provenance: where the texts that a model reads came from. It is stored with each text, and stays with what a run makes
// of it.

/** Who writes a text, or has a run started by a tool, as the tool policy sees it. */
export interface Initiator {
  /** An agent in its turn, or a client over HTTP. */
  caller: 'agent' | 'http'
  agentId: string
  /** `agent:<agentId>:<key>`, or `global`. */
  sessionKey: string
  /** `<provider>/<model>` of the calling turn. Default: the agent's model. */
  model?: string | undefined
  /** Channel and account to which the call relates. Default: those of the session key. */
  channel?: string | undefined
  accountId?: string | undefined
  /** The client that calls, or that started the calling run. Absent: none, or the gateway's own credential. */
  client?: string | undefined
  /** Who wrote the message that started the calling run, on a channel. */
  sender?: MessageSender | undefined
}

/** Who wrote a message on a channel, and where. */
export interface MessageSender {
  channel: string
  accountId: string
  from: { id: string; otherIds?: readonly string[] | undefined }
  /** The recipient of the reply; in a group, its id. */
  to: string
  group?: 'group' | 'channel' | undefined
  /** All ids of the group. Default: `to`. */
  groupIds?: readonly string[] | undefined
  /** True: the agent read the message as the text of somebody whom it trusts. */
  isTrusted: boolean
}

export interface Provenance {
  /** The sources outside of the gateway that wrote text of it: `webhook github`, `web_fetch`. */
  outside: readonly string[]
  /** The callers that wrote text of it. A turn that reads it may do no more than each of them may. */
  authors: readonly Initiator[]
  /** True: some of it is private. A person wrote it, or a tool read it. */
  isPrivate: boolean
}

/** The provenance of a turn's messages. */
export interface TurnProvenance {
  /** Of the texts that were new in the turn: its task, its events, the results of its tools. */
  own: Provenance
  /** Of the earlier messages that it read. Its reply may repeat them. */
  seen: Provenance
}

export const noProvenance: Provenance = { outside: [], authors: [], isPrivate: false }

/** Text that was stored before the gateway recorded where it came from. */
export const unknownProvenance: Provenance = {
  outside: ['a text whose source was not recorded'],
  authors: [],
  isPrivate: true,
}

/** More sources than these are counted as one. */
const maxNames = 32
const maxAuthors = 32
/** May do nothing: no agent has this id. */
const tooManyAuthors: Initiator = { caller: 'agent', agentId: '', sessionKey: '' }

export function joinProvenance(...all: readonly Provenance[]): Provenance {
  const outside = [...new Set(all.flatMap((one) => one.outside))]
  const authors = new Map(all.flatMap((one) => one.authors).map((author) => [JSON.stringify(author), author]))
  return {
    outside: outside.length <= maxNames ? outside : [...outside.slice(0, maxNames - 1), 'others'],
    authors: authors.size <= maxAuthors ? [...authors.values()] : [tooManyAuthors],
    isPrivate: all.some((one) => one.isPrivate),
  }
}

/**
 * The author of what a caller writes: an agent, its group, a client. Not its session, because what an agent hands to a
 * subagent and gets back from it is still its own.
 */
export function authorOf({ caller, agentId, sessionKey, channel, accountId, client }: Initiator): Initiator {
  const isOfGroup = /:(?:group|channel):/.test(sessionKey)
  return {
    caller,
    agentId,
    sessionKey: isOfGroup ? sessionKey : `agent:${agentId}`,
    ...(isOfGroup && channel !== undefined && { channel }),
    ...(isOfGroup && accountId !== undefined && { accountId }),
    ...(client !== undefined && { client }),
  }
}

export const joinTurn = ({ own, seen }: TurnProvenance): Provenance => joinProvenance(own, seen)

/** Null: it was not recorded. */
export const writeProvenance = (provenance: Provenance | TurnProvenance | undefined): string | null =>
  provenance === undefined ? null : JSON.stringify(provenance)
export const readProvenance = (text: string | null): Provenance | undefined =>
  text === null ? undefined : (JSON.parse(text) as Provenance)
export const readTurnProvenance = (text: string | null): TurnProvenance | undefined =>
  text === null ? undefined : (JSON.parse(text) as TurnProvenance)
