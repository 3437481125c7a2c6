// The schema of the error envelope, for the responses of routes.
import { type Static, Type } from '../typebox.ts'

export const Failure = Type.Object(
  {
    ok: Type.Literal(false),
    error: Type.Object({
      type: Type.String({ description: 'A stable code for programs.' }),
      message: Type.String({ description: 'A sentence for humans.' }),
    }),
  },
  { description: 'What went wrong.' },
)
export type Failure = Static<typeof Failure>

/** The error responses of a route: `failures(400, 401)`. */
export const failures = (...statuses: readonly number[]): Record<number, typeof Failure> =>
  Object.fromEntries(statuses.map((status) => [status, Failure]))

/** A response without a body. */
export const withoutBody = (description: string) => ({ description, content: {} })
