// What can be said of a store without opening it for work.

/** `reason` is a sentence without secrets. */
export type StoreReport =
  | { state: 'absent' }
  | { state: 'readable'; /** Of the tables. 0: there are none. */ version: number; bytes: number }
  /** `refused`: the server answers, but not to this user. `unusable`: the store is damaged, or is something else. */
  | { state: 'unreachable' | 'refused' | 'unusable'; reason: string }
