// The preset for Linear: issues, comments, projects; one session per issue.
import {
  type ActionOverrides,
  clip,
  definePreset,
  entryOf,
  InputError,
  lines,
  type PresetRequest,
  type Static,
  type TSchema,
  Type,
} from 'svc-gateway/plugin'

const Maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))
const Text = Maybe(Type.String())
const Named = Maybe(Type.Object({ name: Text }))

const Payload = Type.Object({
  action: Type.String({ minLength: 1 }),
  type: Type.String({ minLength: 1 }),
  url: Text,
  actor: Named,
  webhookTimestamp: Type.Optional(Type.Number()),
  updatedFrom: Maybe(Type.Record(Type.String(), Type.Unknown())),
  data: Maybe(
    Type.Object({
      id: Text,
      identifier: Text,
      title: Text,
      name: Text,
      description: Text,
      body: Text,
      health: Text,
      priorityLabel: Text,
      dueDate: Text,
      state: Maybe(Type.Union([Type.String(), Type.Object({ name: Text })])),
      assignee: Named,
      team: Named,
      user: Named,
      botActor: Maybe(Type.Unknown()),
      project: Maybe(Type.Object({ id: Text, name: Text })),
      issue: Maybe(Type.Object({ identifier: Text, title: Text })),
    }),
  ),
})
type Payload = Static<typeof Payload>
type Known = Payload & { data: NonNullable<Payload['data']> }

export default definePreset<Payload>({
  name: 'linear',
  description: 'Issues, comments and projects of Linear.',
  payload: Payload,
  mapping: { name: 'Linear' },
  auth: { scheme: 'linear' },
  deliveryId: ({ headers }) => headers['linear-delivery'],
  toAction,
})

/** Fields whose changes are reported, with their names. */
const changes: Readonly<Record<string, string>> = {
  stateId: 'state',
  state: 'state',
  assigneeId: 'assignee',
  priority: 'priority',
  title: 'title',
  name: 'name',
  dueDate: 'due date',
  targetDate: 'target date',
  teamId: 'team',
  projectId: 'project',
  archivedAt: 'archive',
}

function toAction({ payload }: PresetRequest<Payload>) {
  const handleEvent = entryOf(eventHandlers, payload.type)
  if (!handleEvent) return null
  if (!payload.data) throw new InputError('data is required; it contains what has changed.')
  return handleEvent({ ...payload, data: payload.data })
}

/** By the type of the changed object. Other types are skipped. */
const eventHandlers: Readonly<Record<string, (payload: Known) => ActionOverrides | null>> = {
  Issue: describeThing,
  Project: describeThing,
  Comment: describeComment,
  ProjectUpdate: describeUpdate,
}

const pastTenses: Readonly<Record<string, string>> = { create: 'created', update: 'changed', remove: 'removed' }

function describeThing({ type, action, actor, data, url, updatedFrom }: Known) {
  const changed = [...new Set(Object.keys(updatedFrom ?? {}).flatMap((key) => entryOf(changes, key) ?? []))]
  const pastTense = entryOf(pastTenses, action)
  if (pastTense === undefined || (action === 'update' && changed.length === 0)) return null
  const state = typeof data.state === 'string' ? data.state : data.state?.name
  const facts = [
    state && `state ${state}`,
    data.priorityLabel && `priority ${data.priorityLabel}`,
    data.assignee?.name && `assigned to ${data.assignee.name}`,
  ]
  const subject = [type.toLowerCase(), data.identifier].filter(Boolean).join(' ')
  const message = lines(
    `Linear: ${actor?.name ?? 'Somebody'} ${pastTense} ${subject} "${clip(data.title ?? data.name, 300)}"`,
    changed.length > 0 && `Changed: ${changed.join(', ')}`,
    facts.some(Boolean) && `Now: ${facts.filter(Boolean).join(', ')}`,
    data.dueDate && `Due: ${data.dueDate}`,
    url,
    action === 'create' && data.description && `\n${clip(data.description)}`,
  )
  return { message, sessionKey: `hook:linear:${data.identifier ?? data.id ?? type}` }
}

/** Comments of bots are skipped: an agent that comments would otherwise answer its own comments. */
function describeComment({ action, actor, data, url }: Known) {
  if (action !== 'create' || data.botActor) return null
  const who = actor?.name ?? data.user?.name ?? 'Somebody'
  const message = lines(
    `Linear: ${who} commented on ${data.issue?.identifier ?? 'an issue'} "${clip(data.issue?.title, 300)}"`,
    url,
    `\n${clip(data.body)}`,
  )
  return { message, sessionKey: `hook:linear:${data.issue?.identifier ?? data.id ?? 'comments'}` }
}

function describeUpdate({ action, actor, data, url }: Known) {
  if (action !== 'create') return null
  const { project, health, body } = data
  const who = actor?.name ?? data.user?.name ?? 'Somebody'
  const head = `Linear: ${who} wrote how project "${clip(project?.name, 300)}" stands${health ? `: ${health}` : ''}`
  return {
    message: lines(head, url, `\n${clip(body)}`),
    sessionKey: `hook:linear:${project?.id ?? data.id ?? 'projects'}`,
  }
}
