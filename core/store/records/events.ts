// Events: lines of text that wait in a session for its next run.
import type { WakeMode } from '../../action.ts'
import type { Timestamp } from './timestamp.ts'

export interface NewEvent {
  id: string
  sessionKey: string
  text: string
  /** `now` also wakes the heartbeat. */
  mode: WakeMode
  /** The event's origin, as prompts name it: `webhook wake`, `run 0198…`. */
  source: string
  /** True: prompts show the text without the external content wrapper. */
  trusted: boolean
  /**
   * True: the text is the field `text` of the body of the request that the event is accepted with, and is stored only
   * there. At most one event of a command may set it.
   */
  inBody?: boolean
  /**
   * The agent that the event wakes, whatever session it waits in. Absent: the event wakes the agent whose main session
   * it waits in, if any.
   */
  agentId?: string | undefined
}

export interface StoredEvent extends Omit<NewEvent, 'inBody' | 'agentId'> {
  at: Timestamp
}

/** The number of events that one call returns, and roughly the number of their characters. At least one is returned. */
export interface EventLimit {
  count: number
  characters: number
}

/** A session in which events wait for the agent that they name. */
export interface WaitingWake {
  agentId: string
  sessionKey: string
  mode: WakeMode
}
