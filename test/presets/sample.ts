// A sample request of a service, and the three kinds of samples that each preset has.

export interface Sample {
  what: string
  payload: unknown
  headers?: Record<string, string>
}

export interface Samples {
  told: readonly Sample[]
  silent: readonly Sample[]
  wrong: readonly Sample[]
}

export const one = (what: string, payload: unknown, headers?: Record<string, string>): Sample => ({
  what,
  payload,
  ...(headers && { headers }),
})
