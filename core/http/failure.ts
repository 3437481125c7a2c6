// What a failure looks like in the schema of a route: the envelope that every route group answers with.
import { type Static, Type } from '../typebox.ts'

export const Failure = Type.Object(
  {
    ok: Type.Literal(false),
    error: Type.Object({
      type: Type.String({ description: 'A stable code; programs look at this one.' }),
      message: Type.String({ description: 'A sentence for people.' }),
    }),
  },
  { description: 'What went wrong.' },
)
export type Failure = Static<typeof Failure>

/** The responses of a route beside its 200: `failures(400, 401)`. */
export const failures = (...statuses: readonly number[]): Record<number, typeof Failure> =>
  Object.fromEntries(statuses.map((status) => [status, Failure]))

/** A response that has no body. */
export const withoutBody = (description: string) => ({ description, content: {} })
