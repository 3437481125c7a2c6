// The preset for Netlify: deploys that failed or went live, requests for approval, forms; one session per branch.
import {
  entryOf,
  eventMessage,
  line,
  listAnswers,
  Maybe,
  plain,
  quote,
  shortHash,
  valueText,
  words,
} from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'
import { scheme } from './scheme.ts'

const Text = Maybe(Type.String())

const Payload = Type.Object({
  id: Type.String({ minLength: 1 }),
  // Deploys:
  site_id: Text,
  state: Text,
  name: Text,
  branch: Text,
  context: Text,
  error_message: Text,
  title: Text,
  committer: Text,
  commit_ref: Text,
  commit_url: Text,
  review_id: Maybe(Type.Union([Type.String(), Type.Number()])),
  review_url: Text,
  ssl_url: Text,
  deploy_ssl_url: Text,
  admin_url: Text,
  skipped: Maybe(Type.Boolean()),
  updated_at: Text,
  // Forms:
  form_id: Text,
  form_name: Text,
  site_url: Text,
  number: Maybe(Type.Number()),
  data: Maybe(Type.Record(Type.String(), Type.Unknown())),
})
type Payload = Static<typeof Payload>

const preset = definePreset<Payload>({
  name: 'netlify',
  description: 'Deploys and forms of Netlify.',
  payload: Payload,
  mapping: { name: 'Netlify' },
  auth: { scheme: 'netlify' },
  // Netlify sends no id, and a deploy can be locked several times.
  deliveryId: ({ payload, headers }) => ({
    subject: payload.id,
    content: `${eventOf(payload, headers)} ${payload.updated_at ?? ''}`,
  }),
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

function toAction({ payload, headers }: PresetRequest<Payload>) {
  const event = eventOf(payload, headers)
  if (event === 'submission_created') return describeForm(payload)
  const state = stateOf(event, payload)
  if (state === undefined) return null
  const { site_id: site, name, branch, review_id: review, title, committer, commit_ref: sha } = payload
  const commit = words(shortHash(sha), quote(title, 200), committer && `by ${line(committer, 100)}`)
  const log = payload.state === 'error' || event === 'deploy_failed' ? logOf(payload) : undefined
  const message = eventMessage('Netlify', {
    head: words(nameOf(payload), branch && `of ${line(branch, 100)}`, name && `on ${line(name, 100)}`, state),
    details: [
      payload.error_message && `Reason: ${payload.error_message}`,
      commit && `Commit: ${commit}`,
      payload.review_url || payload.commit_url,
    ],
    link: log || payload.deploy_ssl_url || payload.ssl_url,
  })
  const part = review ? `#${review}` : branch ? `@${branch}` : ''
  return { message, sessionKey: `hook:netlify:${line(site || name, 100) || 'site'}${line(part, 300)}` }
}

/** By event; successful previews are skipped. */
const states: Readonly<Record<string, string>> = {
  deploy_failed: 'failed',
  deploy_locked: 'was locked: new deploys are no longer published',
  deploy_unlocked: 'was unlocked: new deploys are published again',
  deploy_deleted: 'was deleted',
  deploy_restored: 'was published again',
  deploy_recovered: 'works again',
  deploy_request_pending: 'waits for approval',
  deploy_request_accepted: 'was approved',
  deploy_request_rejected: 'was rejected',
}

/** An event without words is told by the state of the deploy, or else by its name. */
function stateOf(event: string, { context, skipped, state, error_message: error }: Payload): string | undefined {
  if (event === 'deploy_created') return context === 'production' ? 'went live' : undefined
  // A build that Netlify or a person has canceled counts as failed.
  if (event === 'deploy_failed' && (skipped || /^(?:cancell?ed|skipped)\b/i.test(error ?? ''))) return undefined
  if (isInProgress(event)) return undefined
  const named = `has the event ${quote(plain(event), 100)}`
  return entryOf(states, event) ?? (state ? `${named} and is ${line(plain(state), 50)}` : named)
}

const isInProgress = (event: string): boolean => event === 'deploy_building' || event === 'unknown'

/**
 * The header names the event. A request that has lost it is read by its state, and so are the events of a deploy that
 * failed or succeeded other than the one before (`previously_…`) and events of names that are not known.
 */
function eventOf({ state, form_id: form }: Payload, headers: PresetRequest['headers']): string {
  const event = headers['x-netlify-event']
  if (event === undefined) return form ? 'submission_created' : (entryOf(byState, state) ?? 'unknown')
  if (event === 'submission_created' || event === 'deploy_created' || isInProgress(event)) return event
  if (Object.hasOwn(states, event)) return event
  if (state === 'ready' && event.includes('previously_')) return 'deploy_recovered'
  return state === 'error' ? 'deploy_failed' : event
}

const byState: Readonly<Record<string, string>> = { error: 'deploy_failed', ready: 'deploy_created' }

function nameOf({ context, review_id: review }: Payload): string {
  if (context === 'production') return 'the production deploy'
  if (context === 'deploy-preview') return `the deploy preview${review ? ` #${line(String(review), 50)}` : ''}`
  return 'a deploy'
}

const logOf = ({ admin_url: admin, id }: Payload): string | undefined =>
  admin ? `${admin}/deploys/${encodeURIComponent(line(id, 100))}` : undefined

// ── Forms ───────────────────────────────────────────────────────────────────────────────────────

function describeForm({ id, form_id: form, form_name: name, site_url: site, number, data }: Payload) {
  const fields = Object.entries(data ?? {}).flatMap(([key, value]): [string, string][] => {
    const text = hiddenFields.has(key) ? '' : answerText(value)
    return text === '' ? [] : [[key, text]]
  })
  const message = eventMessage(
    'Netlify',
    {
      head: words(
        'somebody submitted',
        name ? `the form ${quote(name, 200)}` : 'the form',
        number ? `(#${number})` : '',
      ),
      ...listAnswers(fields),
      link: site,
    },
    8000,
  )
  return { message, sessionKey: `hook:netlify:form-${line(form || name || id, 200)}` }
}

/** What Netlify adds to the fields of the form. */
const hiddenFields: ReadonlySet<string> = new Set(['ip', 'user_agent', 'referrer'])

/** A text, several choices, or a file: `basket.png, image/png, 1234 bytes, https://…`. */
function answerText(value: unknown): string {
  if (typeof value === 'string') return value.trim()
  if (Array.isArray(value)) return value.slice(0, 20).map(answerText).filter(Boolean).join(', ')
  if (typeof value !== 'object' || value === null) return valueText(value) ?? ''
  const { filename, type, size, url } = value as Record<string, unknown>
  const bytes = valueText(size)
  return [filename, type, bytes && `${bytes} bytes`, url]
    .map((part) => valueText(part) ?? '')
    .filter(Boolean)
    .join(', ')
}
