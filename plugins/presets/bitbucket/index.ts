// The preset for Bitbucket Cloud: pull requests, issues, pushes, failed builds; one session per pull request or issue.
import { clip, entryOf, lines } from 'svc-gateway/kit'
import { type ActionOverrides, definePreset, InputError, type PresetRequest } from 'svc-gateway/plugin'
import { describeOther, eventHandlers } from './event-handlers.ts'
import { Payload } from './payload.ts'

export default definePreset<Payload>({
  name: 'bitbucket',
  description: 'Events of repositories on Bitbucket.',
  payload: Payload,
  mapping: { name: 'Bitbucket' },
  auth: { scheme: 'hmac', header: 'x-hub-signature', prefix: 'sha256=' },
  deliveryId: ({ headers }) => headers['x-request-uuid'],
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

function toAction({ payload, headers }: PresetRequest<Payload>): ActionOverrides | null {
  const event = headers['x-event-key']
  if (event === undefined) throw new InputError('The header X-Event-Key is missing; it names the event.')
  if (silent.has(event)) return null
  const { actor, repository } = payload
  const who = actor?.display_name || actor?.nickname || 'Somebody'
  const handleEvent = entryOf(eventHandlers, event)
  const eventText = handleEvent ? handleEvent(payload, who) : describeOther(event, payload, who)
  if (!eventText) return null
  const { head, details = [], link, text, thing } = eventText
  const path = repository?.full_name
  return {
    message: lines(
      `Bitbucket: ${clip(head, 500)}${path ? ` in ${path}` : ''}`,
      ...details,
      link || repository?.links?.html?.href,
      text && `\n${clip(text)}`,
    ),
    sessionKey: `hook:bitbucket:${path || 'bitbucket'}${thing ? `/${thing}` : ''}`,
  }
}
