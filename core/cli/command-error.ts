// The error of a command: one sentence for people, and what the process ends with.

/** Nobody answers at the gateway's address. */
export const unreachable = 2
/** Ctrl-C, as a shell counts it. */
export const interrupted = 130

export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: number
  /** What the gateway answered. */
  readonly answered: { type: string; message: string } | undefined

  constructor(message: string, exitCode = 1, answered?: { type: string; message: string }) {
    super(message)
    this.exitCode = exitCode
    this.answered = answered
  }
}
