// Sessions, the routes that their messages came from, and the external content that they hold.
import type { Json, ToolEffect } from '../../plugin.ts'
import type { Timestamp } from './timestamp.ts'

export interface NewRoute {
  channel: string
  accountId: string
  to: string
  threadId: string | null
  route: Json
}

export interface StoredRoute extends NewRoute {
  at: Timestamp
}

export interface StoredSession {
  key: string
  agentId: string
  updatedAt: Timestamp
}

/**
 * Where a page of sessions ended: at a session that has started or has events, and at the queued run (`run`) whose
 * session has not started.
 */
export interface SessionPosition extends Pick<StoredSession, 'updatedAt' | 'key'> {
  run: number
}

export interface SessionPage {
  items: StoredSession[]
  /** Where the next page starts; absent on the last page. */
  next?: SessionPosition
}

export interface SessionCounts {
  events: number
  queued: number
  running: number
  transcript: number
}

/** What the tools of a session, or of one run, have done since it holds external content. */
export interface Exposure {
  /** True: the transcript was empty when the external content arrived. */
  fromStart: boolean
  readsPrivate: boolean
  sends: boolean
}

/** The effects of a tool that is about to be called. */
export interface EffectUse {
  /** Session keys and ids of runs whose effects count together. */
  scopes: readonly string[]
  effects: readonly ToolEffect[]
  /** True: the effects are recorded whatever the scopes have done before. */
  force?: boolean | undefined
}

export interface LeaseGrant {
  fencingToken: number
}
