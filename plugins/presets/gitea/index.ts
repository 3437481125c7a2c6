// The preset for Gitea, Forgejo and Gogs: issues, pull requests, releases and failures; one session per issue or pull
// request.
import { clip, entryOf, lines } from 'svc-gateway/kit'
import { type ActionOverrides, definePreset, InputError, type PresetRequest } from 'svc-gateway/plugin'
import { describeOther, eventHandlers, nameOf } from './event-handlers.ts'
import { Payload } from './payload.ts'

export default definePreset<Payload>({
  name: 'gitea',
  description: 'Events of repositories on Gitea, Forgejo and Gogs.',
  payload: Payload,
  mapping: { name: 'Gitea' },
  auth: { scheme: 'gitea' },
  deliveryId: ({ headers }) => readHeader(headers, 'delivery'),
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

/** Events that are skipped: noise, or reported better by another event. */
const silent: ReadonlySet<string> = new Set(['workflow_job', 'action_run_success', 'schedule'])

function toAction({ payload, headers }: PresetRequest<Payload>): ActionOverrides | null {
  const event = readHeader(headers, 'event')
  if (event === undefined) throw new InputError('The header X-Gitea-Event is missing; it names the event.')
  if ('payload' in payload)
    throw new InputError('The body is a form; set the content type of the webhook to application/json.')
  if (silent.has(event)) return null
  const { sender, pusher, run, organization } = payload
  const who = nameOf(sender) ?? nameOf(pusher) ?? 'Somebody'
  const handleEvent = entryOf(eventHandlers, event)
  const eventText = handleEvent ? handleEvent(payload, who) : describeOther(event, payload, who)
  if (!eventText) return null
  const { head, details = [], link, text, number } = eventText
  // A fork is reported with the new repository, so the old one is the place.
  const repository = (event === 'fork' ? payload.forkee : undefined) ?? payload.repository ?? run?.repository
  const place = repository?.full_name
  return {
    message: lines(
      `Gitea: ${clip(head, 500)}${place ? ` in ${place}` : ''}`,
      ...details,
      link || repository?.html_url,
      text && `\n${clip(text)}`,
    ),
    sessionKey: `hook:gitea:${place || nameOf(organization) || 'gitea'}${number ? `#${number}` : ''}`,
  }
}

/** Forgejo and Gitea also send the headers of Gogs, from which both descend. */
const readHeader = (headers: PresetRequest['headers'], name: string): string | undefined =>
  headers[`x-forgejo-${name}`] ?? headers[`x-gitea-${name}`] ?? headers[`x-gogs-${name}`]
