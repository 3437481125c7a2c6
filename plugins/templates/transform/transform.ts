// Turns an alert of a monitor into work for the agent, and skips alerts that only inform.
import { line, lines, type Static, type TransformInput, type TransformResult, Type } from 'svc-gateway/transform'

/** The fields that the transform reads. Any other payload is answered with 400, and the function is not called. */
export const payload = Type.Object({
  id: Type.String({ minLength: 1 }),
  title: Type.String({ minLength: 1 }),
  severity: Type.Enum(['info', 'warning', 'critical']),
  host: Type.String({ minLength: 1 }),
  url: Type.Optional(Type.String()),
})

type Payload = Static<typeof payload>

export default function transform({ payload }: TransformInput<Payload>): TransformResult {
  const { id, title, severity, host, url } = payload
  if (severity === 'info') return null
  return {
    // `line` keeps what a sender chooses on one line; `lines` leaves out what is missing.
    message: lines(
      `${line(title)} (${severity}, ${line(host)})`,
      line(url),
      'Find out what is wrong and say what to do first.',
    ),
    // Alerts of one host share a conversation.
    sessionKey: `hook:transform-name:${host}`,
    // If the monitor sends an alert again, nothing starts twice.
    idempotencyKey: id,
  }
}
