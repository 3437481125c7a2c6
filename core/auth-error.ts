// The error that says that a platform refuses the credentials, and how the gateway recognizes it.

const brand = Symbol.for('svc-gateway.AuthError')

/**
 * Throw it when a platform refuses the credentials, so that trying again does not help. The message appears in the log
 * and in the state of the channel, so it must hold no secrets.
 */
export class AuthError extends Error {
  override readonly name = 'AuthError'
  readonly [brand] = true
}

/** Recognized by a brand, since a plugin may bring its own copy of the contract, with a class of its own. */
export const isAuthError = (error: unknown): error is AuthError => error instanceof Error && brand in error
