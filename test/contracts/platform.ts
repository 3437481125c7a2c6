// What the channel contract asks of a double of a platform.
import type { PlatformRequest, PlatformResponse } from '../../core/plugin/plugin.ts'
import type { SaidFile } from './said-file.ts'

/**
 * A double of the platform, new for each test. Leave out what the platform or the channel cannot do, and name it in
 * `without` of the suite.
 */
export interface Platform<Config> {
  /** Settings that connect the channel to this double. */
  config: Config
  /** Settings whose credentials the double refuses. */
  badConfig?: Config
  /** A recipient that exists. */
  to: string
  /** Every message that the platform accepted, oldest first. */
  messages(): Promise<readonly AcceptedMessage[]>
  /**
   * Somebody writes a message to the account. It need not have been received when the promise resolves. If the channel
   * could not store it, the double repeats it as the platform does.
   */
  say?(text: string): Promise<void>
  /** The person who says this takes another display name, from the next message on. */
  rename?(name: string): Promise<void>
  /** Somebody changes the text of the message that was said last, wherever that is. */
  edit?(text: string): Promise<void>
  /** Somebody writes in a thread: below an earlier message, or in a topic. */
  sayInThread?(text: string): Promise<void>
  /**
   * Somebody writes in a group, and mentions the account or not. `inThread` is given only if the double has
   * `sayInThread`: in a thread of the group.
   */
  sayInGroup?(text: string, options: { mentioned: boolean; inThread?: boolean }): Promise<void>
  /**
   * Somebody writes a message with a file. The double serves its `content` to whoever downloads it, at the speed at
   * which it is read. `place` is given only if the double has `sayInGroup` or `sayInThread`: where these say it. The text
   * may be empty. Resolves with `withheld` if the platform does not give files of this place to the account: the message
   * must still say that there was one.
   */
  sayWithFile?(text: string, file: SaidFile, place?: 'group' | 'thread'): Promise<void | 'withheld'>
  /** Somebody writes one message with several files. */
  sayWithFiles?(text: string, files: readonly SaidFile[]): Promise<void>
  /**
   * Somebody answers a message: `own`, the last one that the account has sent, or `other`, the last one that was said in
   * a group. The latter is given only if the double has `sayInGroup`, and the answer mentions the account.
   */
  answer?(text: string, original: 'own' | 'other'): Promise<void>
  /** Somebody passes on a text of somebody else. */
  forward?(text: string): Promise<void>
  /** From the next message on, the platform does not show an id of the person who says this that it has shown before. */
  hideId?(): Promise<void>
  /**
   * The next download of a file is answered with a redirect: to where the platform itself serves the file, or to this
   * address of another host.
   */
  redirectNextDownload?(address?: string): void
  /**
   * Somebody picks the choice with this label below the last message that had choices, even if they are gone: an app may
   * still show them.
   */
  press?(label: string): Promise<void>
  /** The account itself writes a message, for example with another device. */
  echo?(text: string): Promise<void>
  /**
   * Cuts the connection as soon as there is one. What is said afterwards must arrive when the channel has connected
   * again, by itself or after `lost`.
   */
  disconnect?(): void | Promise<void>
  /** The platform accepts the next message, but its response is lost. */
  loseNextAnswer?(): void
  /** The platform refuses the next message and asks to wait. */
  limitNext?(retryAfterMs: number): void
  /**
   * The platform answers the next message with this HTTP status: 400, 401, 404 or 503, and the message is not accepted;
   * or 500, and it is, as when the platform fails after its work.
   */
  answerNext?(status: number): void
  /** Called before the first connection, with the way to the `handle` of the current connection. */
  webhook?(post: (request: PlatformRequest) => Promise<PlatformResponse>): void
  /** Required if the connection has `handle`: how the platform proves that a request is its own. */
  signature?: PlatformSignature
  close(): Promise<void>
}

/** How a platform proves that a request is its own. The suite forges requests with it. */
export interface PlatformSignature {
  /** Whether it is computed from the body. A token, which only names the sender, is not. */
  coversBody: boolean
  /** How old a request may be, if the platform signs the time. */
  maxAgeMs?: number
  /**
   * The headers that prove that a body is from the platform, and no others.
   * @param options `at`: signed at this time, in milliseconds since 1970; `forged`: signed with another secret
   */
  sign(body: Uint8Array, options: { at: number; forged: boolean }): Readonly<Record<string, string>>
}

/** A message as the platform accepted it. */
export interface AcceptedMessage {
  to: string
  /** As the channel sent it. With a file, the caption. */
  text: string
  /** The thread in which it is, as messages that are received in this thread have it. */
  threadId?: string | undefined
  /** Required if the channel sends files. */
  file?: { name: string; content: Uint8Array } | undefined
  /**
   * The addresses that the platform or an app would fetch to show the message, before anybody opens one: for previews of
   * links and for pictures. Leave it out only if the platform never does.
   */
  fetches?: readonly string[] | undefined
  /** Required if the channel sends choices: the labels of those that can be picked now. */
  choices?: readonly string[] | undefined
}

/** What a platform may not have, or what a channel may not be able to do. */
export type PlatformAbility =
  | 'answer'
  | 'badConfig'
  | 'disconnect'
  | 'edit'
  | 'answerNext'
  | 'forward'
  | 'hideId'
  | 'limitNext'
  | 'loseNextAnswer'
  | 'press'
  | 'redirectNextDownload'
  | 'rename'
  | 'say'
  | 'sayInGroup'
  | 'sayInThread'
  | 'sayWithFile'
  | 'sayWithFiles'
  | 'signature'
