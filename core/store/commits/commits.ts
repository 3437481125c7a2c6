// The calls that this gateway has committed, for those who count, publish or announce them, and feeds of such items.
import type { OperationArgs, OperationName, OperationResult } from '../operations.ts'

export interface CommittedCall<Name extends OperationName = OperationName> {
  name: Name
  args: OperationArgs<Name>
  result: OperationResult<Name>
  /** From the call until it was committed. */
  ms: number
}

/** Committed calls in the order of their commits. Each is published before its caller knows of it. */
export type Commits = Feed<CommittedCall>

/** What to do for the committed calls of an operation. */
export type CommitHandlers<Result = void> = { [Name in OperationName]?: (call: CommittedCall<Name>) => Result }

/** Returns the result of the operation's handler; undefined if there is none. */
export const handleCommit = <Result>(handlers: CommitHandlers<Result>, call: CommittedCall): Result | undefined =>
  (handlers[call.name] as ((call: CommittedCall) => Result) | undefined)?.(call)

export interface Feed<Item> {
  hasSubscribers(): boolean
  publish(item: Item): void
  /** Calls `subscriber` with every item from now on. It must not throw. @returns a function that unsubscribes */
  subscribe(subscriber: (item: Item) => void): () => void
}

/** @param start called for the first subscriber; the function that it returns is called when there is none any more */
export function createFeed<Item>(start?: () => () => void): Feed<Item> {
  const subscribers = new Set<(item: Item) => void>()
  let stop: (() => void) | undefined
  return {
    hasSubscribers: () => subscribers.size > 0,
    publish: (item) => {
      for (const subscriber of subscribers) subscriber(item)
    },
    subscribe: (subscriber) => {
      if (subscribers.size === 0) stop = start?.()
      // A function of its own for each subscription: the same subscriber may subscribe twice.
      const own = (item: Item): void => subscriber(item)
      subscribers.add(own)
      return () => {
        if (subscribers.delete(own) && subscribers.size === 0) stop?.()
      }
    },
  }
}
