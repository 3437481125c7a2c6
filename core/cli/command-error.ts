// The error of a command: a sentence for people, and the exit code.

/** Exit code if no gateway answers. */
export const unreachable = 2
/** Exit code after Ctrl-C, as in a shell. */
export const interrupted = 130

export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: number
  /** The error that the gateway returned. */
  readonly response: { type: string; message: string } | undefined

  constructor(message: string, exitCode = 1, response?: { type: string; message: string }) {
    super(message)
    this.exitCode = exitCode
    this.response = response
  }
}
