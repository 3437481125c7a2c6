// The preset for GitLab: issues, merge requests, comments, pushes and failures; one session per issue or merge request.
import { hash } from 'node:crypto'
import { entryOf, eventMessage, line } from 'svc-gateway/kit'
import { type ActionOverrides, definePreset, InputError, type PresetRequest } from 'svc-gateway/plugin'
import { describeOther, eventHandlers } from './event-handlers.ts'
import type { EventText } from './event-text.ts'
import { Payload } from './payload.ts'
import { scheme } from './scheme.ts'

const preset = definePreset<Payload>({
  name: 'gitlab',
  description: 'Events of projects on GitLab.',
  payload: Payload,
  mapping: { name: 'GitLab' },
  auth: { scheme: 'gitlab' },
  deliveryId: ({ headers, payload }) => headers['idempotency-key'] ?? eventId(headers['x-gitlab-event-uuid'], payload),
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

/**
 * For versions before GitLab 17.4. A webhook that another one triggers has the same event id, so the payload is part of
 * the id; retries repeat the payload.
 */
const eventId = (event: string | undefined, payload: Payload) =>
  event && `${event} ${hash('sha256', JSON.stringify(payload), 'base64')}`

function toAction({ payload }: PresetRequest<Payload>): ActionOverrides | null {
  const kind = payload.object_kind ?? payload.event_name
  if (!kind) throw new InputError('object_kind is required; it names the event.')
  const who = whoOf(payload)
  const handleEvent = entryOf(eventHandlers, kind)
  const eventText = handleEvent ? handleEvent(payload, who ?? 'Somebody') : describeOther(kind, payload, who)
  if (!eventText) return null
  const { head, link, subject = '' } = eventText
  const path = line(pathOf(payload, eventText), 200)
  const place = path || line(payload.project_name)
  return {
    message: eventMessage('GitLab', {
      ...eventText,
      place: ` ${head} `.includes(` ${place} `) ? undefined : place,
      link: link ?? payload.project?.web_url ?? payload.group?.web_url,
    }),
    sessionKey: `hook:gitlab:${path || (payload.project_id ?? 'gitlab')}${subject}`,
  }
}

/** The path of the project or group. `project_name` is only for display: it changes, and is not unique. */
function pathOf({ project, repository }: Payload, { where, link }: EventText): string | undefined {
  return project?.path_with_namespace ?? where ?? pathIn(repository?.homepage) ?? pathIn(link?.split('/-/', 1)[0])
}

const pathIn = (url: string | null | undefined): string | undefined =>
  (url && URL.parse(url)?.pathname.replaceAll(/^\/|\/$/g, '')) || undefined

function whoOf({ user, user_name: name, user_username: username }: Payload): string | undefined {
  const given = typeof user === 'string' ? user : user?.name || user?.username
  return line(given || name || username, 100) || undefined
}
