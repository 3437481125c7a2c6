// The type of handwritten payloads, and how one is written.

export interface Sample {
  what: string
  payload: unknown
  headers?: Record<string, string>
}

/** A request as the service signs it. */
export interface Signed {
  auth: Readonly<Record<string, unknown>>
  headers: Readonly<Record<string, string>>
  body: string
  url?: string
}

export interface Samples {
  told: readonly Sample[]
  silent: readonly Sample[]
  wrong: readonly Sample[]
  /** Required where the scheme of the preset is `hmac`, which has no sample of its own. */
  signed?: Signed
}

export const one = (what: string, payload: unknown, headers?: Record<string, string>): Sample => ({
  what,
  payload,
  ...(headers && { headers }),
})
