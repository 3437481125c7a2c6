// The error that blames the caller's input, and how the gateway recognizes it.

const brand = Symbol.for('svc-gateway.InputError')

/**
 * Throw it when the caller's input is at fault: the message reaches the caller with status 400. The message of any
 * other error does not.
 */
export class InputError extends Error {
  override readonly name = 'InputError'
  readonly [brand] = true
}

/** Recognized by a brand, since a plugin may bring its own copy of the contract, with a class of its own. */
export const isInputError = (error: unknown): error is InputError => error instanceof Error && brand in error
