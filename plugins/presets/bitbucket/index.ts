// The preset for Bitbucket Cloud and Data Center: pull requests, issues, pushes, failed builds; one session per pull
// request or issue.
import { entryOf, eventMessage, line } from 'svc-gateway/kit'
import { type ActionOverrides, definePreset, InputError, type PresetRequest } from 'svc-gateway/plugin'
import { asCloudPayload } from './data-center.ts'
import { describeOther, eventHandlers } from './event-handlers.ts'
import { Payload } from './payload.ts'

export default definePreset<Payload>({
  name: 'bitbucket',
  description: 'Events of repositories on Bitbucket.',
  payload: Payload,
  mapping: { name: 'Bitbucket' },
  auth: { scheme: 'hmac', header: 'x-hub-signature', prefix: 'sha256=' },
  deliveryId: ({ headers, payload }) =>
    headers['x-request-uuid'] ?? (payload.eventKey ? headers['x-request-id'] : undefined),
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

/** Events that are skipped: edits, and what another event reports better. */
const silent: ReadonlySet<string> = new Set([
  'repo:updated',
  'repo:imported',
  'pullrequest:updated',
  'pullrequest:push',
  'pullrequest:comment_updated',
  'pullrequest:comment_deleted',
  'pullrequest:comment_resolved',
  'pullrequest:comment_reopened',
  // The test of Bitbucket Data Center.
  'diagnostics:ping',
])

function toAction({ payload: received, headers }: PresetRequest<Payload>): ActionOverrides | null {
  const event = headers['x-event-key']
  if (event === undefined) throw new InputError('The header X-Event-Key is missing; it names the event.')
  if (silent.has(event)) return null
  const payload = received.eventKey ? asCloudPayload(received) : received
  const { actor, repository } = payload
  const name = actor?.display_name || actor?.nickname || actor?.displayName || actor?.name || actor?.username
  const who = line(name, 100) || 'Somebody'
  const handleEvent = entryOf(eventHandlers, event)
  const eventText = handleEvent ? handleEvent(payload, who) : describeOther(event, payload, who)
  if (!eventText) return null
  const place = line(repository?.full_name, 200)
  const { thing } = eventText
  return {
    message: eventMessage('Bitbucket', {
      ...eventText,
      place,
      link: eventText.link || repository?.links?.html?.href,
    }),
    sessionKey: `hook:bitbucket:${place || 'bitbucket'}${thing ? `/${thing}` : ''}`,
  }
}
