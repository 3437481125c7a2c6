// What the parts of the double of Google answer.
export interface Reply {
  status?: number
  headers?: Record<string, string>
  body?: unknown
  /** Ends the connection without an answer. */
  isLost?: boolean
  /** Never answers. */
  isHeld?: boolean
}

/** By method and path. */
export type Routes = Record<string, (request: { body: string; query: URLSearchParams }) => Reply>

export const fault = (code: number, message: string, more: object = {}): Reply => ({
  status: code,
  body: { error: { code, message, ...more } },
})
