// The preset for Linear: issues, comments, projects; one session per issue.
import { entryOf, eventMessage, line, Maybe, quote, words } from 'svc-gateway/kit'
import {
  type ActionOverrides,
  definePreset,
  InputError,
  type PresetRequest,
  type Static,
  Type,
} from 'svc-gateway/plugin'
import { appEventFields, appEvents, camelWords, keyOf } from './app-events.ts'
import { scheme } from './scheme.ts'

const Text = Maybe(Type.String())
const Named = Maybe(Type.Object({ name: Text }))
const Project = Maybe(Type.Object({ id: Text, name: Text }))
const Person = Maybe(Type.Object({ name: Text, email: Text }))
const Titled = Maybe(Type.Object({ id: Text, title: Text }))

const Payload = Type.Object({
  action: Type.String({ minLength: 1 }),
  type: Type.String({ minLength: 1 }),
  url: Text,
  // An integration has the name of a service.
  actor: Maybe(Type.Object({ name: Text, service: Text, email: Text, type: Text })),
  webhookTimestamp: Type.Optional(Type.Number()),
  updatedFrom: Maybe(Type.Record(Type.String(), Type.Unknown())),
  ...appEventFields,
  // Of a service level agreement:
  issueData: Maybe(Type.Object({ id: Text, identifier: Text, title: Text, slaBreachesAt: Text, url: Text })),
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
      targetDate: Text,
      state: Maybe(Type.Union([Type.String(), Type.Object({ name: Text })])),
      status: Maybe(Type.Union([Type.String(), Type.Object({ name: Text })])),
      assignee: Named,
      lead: Named,
      user: Person,
      externalUser: Named,
      botActor: Maybe(Type.Unknown()),
      project: Project,
      projectId: Text,
      initiative: Project,
      initiativeId: Text,
      issue: Maybe(Type.Object({ id: Text, identifier: Text, title: Text })),
      issueId: Text,
      // The subject of a comment, if it is not an issue:
      projectUpdate: Maybe(Type.Object({ id: Text, project: Project })),
      initiativeUpdate: Maybe(Type.Object({ id: Text, initiative: Project })),
      documentContent: Maybe(Type.Object({ id: Text, document: Titled, project: Project, initiative: Project })),
      documentContentId: Text,
    }),
  ),
})
type Payload = Static<typeof Payload>
type Known = Payload & { data: NonNullable<Payload['data']> }

const preset = definePreset<Payload>({
  name: 'linear',
  description: 'Issues, comments and projects of Linear.',
  payload: Payload,
  mapping: { name: 'Linear' },
  auth: { scheme: 'linear' },
  deliveryId: ({ headers }) => headers['linear-delivery'],
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

/** Fields whose changes are reported, with their names. */
const changes: Readonly<Record<string, string>> = {
  stateId: 'state',
  state: 'state',
  statusId: 'status',
  assigneeId: 'assignee',
  delegateId: 'delegate',
  leadId: 'lead',
  priority: 'priority',
  title: 'title',
  name: 'name',
  dueDate: 'due date',
  startDate: 'start date',
  targetDate: 'target date',
  teamId: 'team',
  projectId: 'project',
  archivedAt: 'archive',
}

function toAction({ payload }: PresetRequest<Payload>) {
  const handleAppEvent = entryOf(appEvents, payload.type)
  if (handleAppEvent) return handleAppEvent(payload)
  if (payload.type === 'IssueSLA') return describeAgreement(payload)
  const handleEvent = entryOf(eventHandlers, payload.type)
  if (!handleEvent) return null
  if (!payload.data) throw new InputError('data is required; it contains what has changed.')
  return handleEvent({ ...payload, data: payload.data })
}

/** By the type of the changed object. Other types are skipped. */
const eventHandlers: Readonly<Record<string, (payload: Known) => ActionOverrides | null>> = {
  Issue: describeThing,
  Project: describeThing,
  Initiative: describeThing,
  Comment: describeComment,
  ProjectUpdate: describeUpdate,
  InitiativeUpdate: describeUpdate,
}

const agreements: Readonly<Record<string, string>> = {
  set: 'has a service level agreement',
  highRisk: 'will soon breach its service level agreement',
  breached: 'has breached its service level agreement',
}

function describeAgreement({ action, issueData: issue, url }: Payload): ActionOverrides | null {
  const state = entryOf(agreements, action)
  if (state === undefined) return null
  const due = issue?.slaBreachesAt
  return {
    message: eventMessage('Linear', {
      head: words('issue', issue?.identifier, quote(issue?.title), state),
      details: [due && `Until: ${due}`],
      link: url ?? issue?.url,
    }),
    sessionKey: keyOf(issue?.id ?? issue?.identifier),
  }
}

const pastTenses: Readonly<Record<string, string>> = {
  create: 'created',
  update: 'changed',
  remove: 'removed',
  restore: 'restored',
}

/**
 * The names of the fields that have changed. Linear also lists fields that were and are empty, with `null` as the value
 * before.
 */
function changesOf({ data, updatedFrom }: Known): string[] {
  const now = data as Readonly<Record<string, unknown>>
  const changed = Object.entries(updatedFrom ?? {}).flatMap(([key, before]) => {
    // `assigneeId` may be missing beside `assignee`.
    const after = now[key] ?? (key.endsWith('Id') ? now[key.slice(0, -2)] : undefined) ?? null
    const name = before === after ? undefined : entryOf(changes, key)
    return name ? words(name, earlierText(key, before)) : []
  })
  return [...new Set(changed)]
}

/** The value before, where Linear sends more than an id. */
function earlierText(key: string, before: unknown): string {
  const shown = key === 'priority' ? priorities[Number(before)] : key.endsWith('Id') ? undefined : before
  const text = typeof shown === 'string' ? line(shown, 100) : ''
  return text && key !== 'archivedAt' ? `(was ${quote(text)})` : ''
}

const priorities = ['No priority', 'Urgent', 'High', 'Medium', 'Low']

function describeThing(payload: Known) {
  const { type, action, data, url } = payload
  const changed = changesOf(payload)
  const pastTense = entryOf(pastTenses, action)
  if (pastTense === undefined || (action === 'update' && changed.length === 0)) return null
  const [state, status] = [nameOf(data.state), nameOf(data.status)]
  const facts = [
    status ? `status ${status}` : state && `state ${state}`,
    data.priorityLabel && `priority ${line(data.priorityLabel, 100)}`,
    data.assignee?.name && `assigned to ${line(data.assignee.name, 100)}`,
    data.lead?.name && `led by ${line(data.lead.name, 100)}`,
  ].filter(Boolean)
  const due = data.dueDate ?? data.targetDate
  const subject = words(type.toLowerCase(), data.identifier, quote(data.title ?? data.name))
  const message = eventMessage('Linear', {
    head: words(whoOf(payload), pastTense, subject),
    details: [
      changed.length > 0 && `Changed: ${changed.join(', ')}`,
      facts.length > 0 && `Now: ${facts.join(', ')}`,
      due && `Due: ${due}`,
    ],
    link: url,
    text: action === 'create' ? data.description : undefined,
  })
  // The identifier changes when an issue moves to another team; the id does not.
  return { message, sessionKey: keyOf(data.id ?? data.identifier) }
}

const nameOf = (state: Known['data']['state']): string => line(typeof state === 'object' ? state?.name : state, 100)

/** A person of another service, such as Slack, is named before the integration that passes on what they wrote. */
const whoOf = ({ actor, data }: Known): string =>
  line(data.externalUser?.name ?? actor?.name ?? data.user?.name ?? actor?.service, 100) || 'Somebody'

/**
 * Whether an app wrote this. An app that acts as itself is a user with an address at Linear. An integration may also
 * pass on what a person of another service wrote.
 */
function isBot({ actor, data }: Known): boolean {
  const type = actor?.type?.toLowerCase()
  if (data.botActor || type === 'oauthclient') return true
  if (type === 'integration') return !data.externalUser
  return [actor, data.user].some((person) => person?.email?.endsWith('@oauthapp.linear.app'))
}

/** Comments of bots are skipped: an agent that comments would otherwise answer its own comments. */
function describeComment(payload: Known) {
  const { action, data, url } = payload
  if (action !== 'create' || isBot(payload)) return null
  const { name, id } = commented(data)
  return {
    message: eventMessage('Linear', { head: `${whoOf(payload)} commented on ${name}`, link: url, text: data.body }),
    sessionKey: keyOf(id ?? data.id),
  }
}

/** What a comment is about, and the id of its session. */
function commented(data: Known['data']): { name: string; id: string | null | undefined } {
  const { issue, projectUpdate: update, initiativeUpdate, documentContent: content, project } = data
  if (issue) return { name: words('issue', issue.identifier, quote(issue.title)), id: issue.id ?? data.issueId }
  if (update) {
    const of = update.project?.name && `of project ${quote(update.project.name)}`
    return { name: words('an update', of || 'of a project'), id: update.project?.id ?? update.id }
  }
  if (initiativeUpdate) {
    const { initiative } = initiativeUpdate
    const of = initiative?.name && `of initiative ${quote(initiative.name)}`
    return { name: words('an update', of || 'of an initiative'), id: initiative?.id ?? initiativeUpdate.id }
  }
  if (content || data.documentContentId) return documented(content, data.documentContentId)
  if (project) return { name: words('project', quote(project.name)), id: project.id }
  return { name: data.issueId ? 'an issue' : 'something', id: data.issueId ?? data.projectId }
}

/** The description of a project or initiative is a document, too. */
function documented(content: Known['data']['documentContent'], contentId: string | null | undefined) {
  const { document, project, initiative } = content ?? {}
  const owner = document ?? project ?? initiative
  const name = document
    ? words('document', quote(document.title))
    : project
      ? words('project', quote(project.name))
      : initiative
        ? words('initiative', quote(initiative.name))
        : 'a document'
  return { name, id: owner?.id ?? content?.id ?? contentId }
}

/** Updates of bots are skipped as their comments are. */
function describeUpdate(payload: Known) {
  const { action, data, url } = payload
  if (action !== 'create' || isBot(payload)) return null
  const { project, projectId, initiative, initiativeId, health, body } = data
  const kind = payload.type === 'InitiativeUpdate' ? 'initiative' : 'project'
  const state = health && camelWords(health)
  const head = words(whoOf(payload), `posted an update of ${kind}`, quote((initiative ?? project)?.name))
  return {
    message: eventMessage('Linear', { head: state ? `${head}: ${state}` : head, link: url, text: body }),
    sessionKey: keyOf(project?.id ?? projectId ?? initiative?.id ?? initiativeId ?? data.id),
  }
}
