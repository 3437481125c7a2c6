// The preset for GitLab: issues, merge requests, comments, pushes and failures; one session per issue or merge request.
import { hash } from 'node:crypto'
import {
  type ActionOverrides,
  clip,
  definePreset,
  entryOf,
  InputError,
  lines,
  type PresetRequest,
} from 'svc-gateway/plugin'
import { Payload } from './payload.ts'
import { describeOther, eventHandlers } from './event-handlers.ts'

export default definePreset<Payload>({
  name: 'gitlab',
  description: 'Events of projects on GitLab.',
  payload: Payload,
  mapping: { name: 'GitLab' },
  auth: { scheme: 'gitlab' },
  deliveryId: ({ headers, payload }) => headers['idempotency-key'] ?? eventId(headers['x-gitlab-event-uuid'], payload),
  toAction,
})

/**
 * For versions before GitLab 17.4. A webhook that another one triggers has the same event id, so the payload is part of
 * the id; retries repeat the payload.
 */
const eventId = (event: string | undefined, payload: Payload) =>
  event && `${event} ${hash('sha256', JSON.stringify(payload), 'base64')}`

function toAction({ payload }: PresetRequest<Payload>): ActionOverrides | null {
  const { object_kind: kind = payload.event_name, project, project_name: name } = payload
  if (!kind) throw new InputError('object_kind is required; it names the event.')
  const handleEvent = entryOf(eventHandlers, kind)
  const eventText = handleEvent ? handleEvent(payload, whoOf(payload)) : describeOther(kind, payload, whoOf(payload))
  if (!eventText) return null
  const path = project?.path_with_namespace ?? name
  return {
    message: lines(
      `GitLab: ${clip(eventText.head, 500)}${path ? ` in ${path}` : ''}`,
      ...(eventText.details ?? []),
      eventText.link ?? project?.web_url,
      eventText.text && `\n${clip(eventText.text)}`,
    ),
    sessionKey: `hook:gitlab:${path ?? 'gitlab'}${eventText.thing ?? ''}`,
  }
}

function whoOf({ user, user_name: name, user_username: username }: Payload): string {
  const given = typeof user === 'string' ? user : (user?.name ?? user?.username)
  return given ?? name ?? username ?? 'Somebody'
}
