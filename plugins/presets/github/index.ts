// The preset for GitHub: issues, pull requests, reviews, releases, alerts and failures; one session per issue or pull
// request.
import { entryOf, eventMessage, line, repositoryPath } from 'svc-gateway/kit'
import { type ActionOverrides, definePreset, InputError, type PresetRequest } from 'svc-gateway/plugin'
import type { EventText } from './event-text.ts'
import { Payload } from './payload.ts'
import { describeOther, eventHandlers } from './event-handlers.ts'
import { scheme } from './scheme.ts'

const preset = definePreset<Payload>({
  name: 'github',
  description: 'Events of repositories on GitHub.',
  payload: Payload,
  mapping: { name: 'GitHub' },
  auth: { scheme: 'github' },
  deliveryId: ({ headers }) => headers['x-github-delivery'],
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

/** Events that are skipped: noise, or reported better by another event. */
const silent: ReadonlySet<string> = new Set([
  'ping',
  'star',
  'watch',
  'label',
  'check_suite',
  'workflow_job',
  'workflow_dispatch',
  'deployment',
  'merge_group',
  'pull_request_review_thread',
  'project',
  'project_card',
  'project_column',
  'projects_v2',
  'projects_v2_item',
  'projects_v2_status_update',
  'secret_scanning_scan',
])

function toAction({ payload, headers }: PresetRequest<Payload>): ActionOverrides | null {
  const event = headers['x-github-event']
  if (event === undefined) throw new InputError('The header X-GitHub-Event is missing; it names the event.')
  if ('payload' in payload)
    throw new InputError('The body is a form; set the content type of the webhook to application/json.')
  if (silent.has(event)) return null
  const who = line(payload.sender?.login ?? payload.pusher?.name, 100) || 'Somebody'
  const handleEvent = entryOf(eventHandlers, event)
  const eventText = handleEvent ? handleEvent(payload, who) : describeOther(event, payload, who)
  return eventText && { message: messageOf(eventText, payload), sessionKey: sessionOf(eventText, payload) }
}

function messageOf(eventText: EventText, { repository, organization }: Payload): string {
  const { head, link } = eventText
  const place = repositoryPath(repository) ?? organization?.login
  return eventMessage('GitHub', {
    ...eventText,
    place: head.endsWith(` to ${place}`) ? undefined : place,
    link: link ?? repository?.html_url,
  })
}

function sessionOf({ number, account }: EventText, { repository, organization, sender }: Payload): string {
  const owner = account ?? organization?.login ?? sender?.login
  const place = line(repositoryPath(repository) ?? owner, 200) || 'github'
  return `hook:github:${place}${number ? `#${number}` : ''}`
}
