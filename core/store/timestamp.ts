// How the store writes a moment.

/** Milliseconds since 1970. */
export type Timestamp = number
