// The calls that this gateway has committed, for those who count, publish or announce them.
import type { Feed } from './feed.ts'
import type { OperationArgs, OperationName, Operations } from '../operations.ts'

export interface CommittedCall<Name extends OperationName = OperationName> {
  name: Name
  args: OperationArgs<Name>
  result: Awaited<ReturnType<Operations[Name]>>
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
