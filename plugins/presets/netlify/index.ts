// The preset for Netlify: deploys that failed or went live, requests for approval, forms; one session per branch.
import { clip, entryOf, lines, Maybe } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

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

export default definePreset<Payload>({
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

function toAction({ payload, headers }: PresetRequest<Payload>) {
  const event = eventOf(payload, headers)
  if (event === 'submission_created') return describeForm(payload)
  const state = stateOf(event, payload)
  if (state === undefined) return null
  const { site_id: site, name, branch, review_id: review, title, committer, commit_ref: sha } = payload
  const commit = [sha?.slice(0, 7), title && `"${clip(title, 200)}"`, committer && `by ${committer}`].filter(Boolean)
  const failed = state === failure
  const message = lines(
    `Netlify: ${nameOf(payload)}${branch ? ` of ${branch}` : ''}${name ? ` on ${name}` : ''} ${state}`,
    payload.error_message && `Reason: ${clip(payload.error_message, 1000)}`,
    commit.length > 0 && `Commit: ${commit.join(' ')}`,
    payload.review_url || payload.commit_url,
    (failed ? logOf(payload) : undefined) || payload.deploy_ssl_url || payload.ssl_url,
  )
  const part = review ? `#${review}` : branch ? `@${branch}` : ''
  return { message, sessionKey: `hook:netlify:${site || name || 'site'}${part}` }
}

const failure = 'failed'

/** By event; other events and successful previews are skipped. */
const states: Readonly<Record<string, string>> = {
  deploy_failed: failure,
  deploy_locked: 'was locked: new deploys are no longer published',
  deploy_unlocked: 'was unlocked: new deploys are published again',
  deploy_deleted: 'was deleted',
  deploy_restored: 'was published again',
  deploy_request_pending: 'waits for approval',
  deploy_request_accepted: 'was approved',
  deploy_request_rejected: 'was rejected',
}

function stateOf(event: string, { context, skipped, error_message: error }: Payload): string | undefined {
  if (event === 'deploy_created') return context === 'production' ? 'went live' : undefined
  // A build that Netlify or a person has canceled counts as failed.
  if (event === 'deploy_failed' && (skipped || /^(?:cancell?ed|skipped)\b/i.test(error ?? ''))) return undefined
  return entryOf(states, event)
}

/** The header names the event. A request that has lost it is read by its state. */
function eventOf({ state, form_id: form }: Payload, headers: PresetRequest['headers']): string {
  const byState: Record<string, string> = { error: 'deploy_failed', ready: 'deploy_created' }
  return headers['x-netlify-event'] ?? (form ? 'submission_created' : (entryOf(byState, state) ?? 'unknown'))
}

function nameOf({ context, review_id: review }: Payload): string {
  if (context === 'production') return 'the production deploy'
  if (context === 'deploy-preview') return `the deploy preview${review ? ` #${review}` : ''}`
  return 'a deploy'
}

const logOf = ({ admin_url: admin, id }: Payload): string | undefined =>
  admin ? `${admin}/deploys/${encodeURIComponent(id)}` : undefined

const mostFields = 20

function describeForm({ id, form_id: form, form_name: name, site_url: site, number, data }: Payload) {
  const fields = Object.entries(data ?? {}).flatMap(([key, value]) => {
    const text = typeof value === 'string' || typeof value === 'number' ? clip(String(value), 1000) : ''
    return text === '' || hiddenFields.has(key) ? [] : [`${clip(key, 100)}: ${text}`]
  })
  const message = lines(
    `Netlify: somebody submitted the form${name ? ` "${clip(name, 200)}"` : ''}${number ? ` (#${number})` : ''}`,
    ...fields.slice(0, mostFields),
    fields.length > mostFields && `… and ${fields.length - mostFields} more`,
    site,
  )
  return { message, sessionKey: `hook:netlify:form-${form || name || id}` }
}

/** What Netlify adds to the fields of the form. */
const hiddenFields: ReadonlySet<string> = new Set(['ip', 'user_agent', 'referrer'])
