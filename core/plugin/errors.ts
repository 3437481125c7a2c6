// The errors that an extension throws to say whose fault it is. The gateway recognizes them by a brand, since a plugin
// may bring its own copy of the contract, with classes of its own.

const authBrand = Symbol.for('svc-gateway.AuthError')
const inputBrand = Symbol.for('svc-gateway.InputError')

/**
 * Throw it when a platform refuses the credentials, so that trying again does not help. The message appears in the log
 * and in the state of the channel, so it must hold no secrets.
 */
export class AuthError extends Error {
  override readonly name = 'AuthError'
  readonly [authBrand] = true
}

/** Whether the error is an `AuthError`, of whatever copy of the contract. */
export const isAuthError = (error: unknown): error is AuthError => error instanceof Error && authBrand in error

/**
 * Throw it when the caller's input is at fault: the message reaches the caller with status 400. The message of any
 * other error does not.
 */
export class InputError extends Error {
  override readonly name = 'InputError'
  readonly [inputBrand] = true
}

/** Whether the error is an `InputError`, of whatever copy of the contract. */
export const isInputError = (error: unknown): error is InputError => error instanceof Error && inputBrand in error

const commandBrand = Symbol.for('svc-gateway.CommandError')

/** The exit codes of commands, besides 0 and 1: no gateway answers, and Ctrl-C, as in a shell. */
export const exitCodes = { unreachable: 2, interrupted: 130 } as const

/** Throw it to end a command with one sentence on standard error. The control client throws it, too. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly [commandBrand] = true
  readonly exitCode: number
  /** The error that the gateway returned. */
  readonly response: { readonly type: string; readonly message: string } | undefined

  constructor(message: string, exitCode = 1, response?: { readonly type: string; readonly message: string }) {
    super(message)
    this.exitCode = exitCode
    this.response = response
  }
}

/** Whether the error is a `CommandError`, of whatever copy of the contract. */
export const isCommandError = (error: unknown): error is CommandError => error instanceof Error && commandBrand in error
