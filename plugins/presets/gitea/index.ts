// The preset for Gitea, Forgejo and Gogs: issues, pull requests, releases and failures; one session per issue or pull
// request.
import { entryOf, eventMessage, line, repositoryPath } from 'svc-gateway/kit'
import { type ActionOverrides, definePreset, InputError, type PresetRequest } from 'svc-gateway/plugin'
import { describeOther, eventHandlers, nameOf } from './event-handlers.ts'
import { Payload } from './payload.ts'
import { scheme } from './scheme.ts'

const preset = definePreset<Payload>({
  name: 'gitea',
  description: 'Events of repositories on Gitea, Forgejo and Gogs.',
  payload: Payload,
  mapping: { name: 'Gitea' },
  auth: { scheme: 'gitea' },
  deliveryId: ({ headers }) => readHeader(headers, 'delivery'),
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

/** Events that are skipped: noise, or reported better by another event. */
const silent: ReadonlySet<string> = new Set(['workflow_job', 'action_run_success', 'schedule'])

function toAction({ payload: received, headers }: PresetRequest<Payload>): ActionOverrides | null {
  const event = readHeader(headers, 'event')
  if (event === undefined) throw new InputError('The header X-Gitea-Event is missing; it names the event.')
  if ('payload' in received)
    throw new InputError('The body is a form; set the content type of the webhook to application/json.')
  if (silent.has(event)) return null
  const payload = withNumber(event, received)
  const { sender, pusher, run, organization } = payload
  const who = nameOf(sender) ?? nameOf(pusher) ?? authorOf(payload) ?? 'Somebody'
  const handleEvent = entryOf(eventHandlers, event)
  const eventText = handleEvent ? handleEvent(payload, who) : describeOther(event, payload, who)
  if (!eventText) return null
  const { link, number } = eventText
  // A fork is reported with the new repository, so the old one is the place.
  const repository = (event === 'fork' ? payload.forkee : undefined) ?? payload.repository ?? run?.repository
  const page = repository?.html_url || repository?.url
  const place = line(repositoryPath({ ...repository, html_url: page }), 200)
  return {
    message: eventMessage('Gitea', { ...eventText, place, link: link || page }),
    sessionKey: `hook:gitea:${place || nameOf(organization) || 'gitea'}${number ? `#${number}` : ''}`,
  }
}

/** Some versions of Gogs send no sender. */
const authorOf = ({ action, comment, issue, pull_request: pull }: Payload): string | undefined =>
  comment ? nameOf(comment.user) : action === 'opened' ? nameOf((pull ?? issue)?.user) : undefined

/** Some versions have the number of an issue or pull request only at the top level. */
function withNumber(event: string, payload: Payload): Payload {
  const { issue, pull_request: pull, number } = payload
  if (typeof number !== 'number') return payload
  if (event === 'issues') return { ...payload, issue: { ...issue, number: issue?.number ?? number } }
  if (!event.startsWith('pull_request')) return payload
  return { ...payload, pull_request: { ...pull, number: pull?.number ?? number } }
}

/** Forgejo and Gitea also send the headers of Gogs, from which both descend. */
const readHeader = (headers: PresetRequest['headers'], name: string): string | undefined =>
  headers[`x-forgejo-${name}`] ?? headers[`x-gitea-${name}`] ?? headers[`x-gogs-${name}`]
