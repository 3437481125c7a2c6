// The preset for Opsgenie: alerts and what people do about them; one session per alert.
import { hash } from 'node:crypto'
import { entryOf, eventMessage, line, Maybe, quote, words } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Id = Maybe(Type.Union([Type.String(), Type.Number()]))
const Responder = Type.Union([Type.String(), Type.Object({ name: Text, username: Text, id: Text, type: Text })])

const Payload = Type.Object({
  action: Type.String({ minLength: 1 }),
  escalationName: Text,
  integrationName: Text,
  source: Maybe(Type.Object({ name: Text, type: Text })),
  alert: Type.Object({
    alertId: Type.String({ minLength: 1 }),
    tinyId: Id,
    message: Text,
    description: Text,
    username: Text,
    entity: Text,
    priority: Text,
    oldPriority: Text,
    note: Text,
    owner: Text,
    team: Text,
    recipient: Text,
    responder: Maybe(Type.Union([Responder, Type.Array(Responder)])),
    snoozeEndDate: Id,
    snoozedUntil: Id,
    createdAt: Id,
    updatedAt: Id,
  }),
})
type Payload = Static<typeof Payload>
type Alert = Payload['alert']

export default definePreset<Payload>({
  name: 'opsgenie',
  description: 'Alerts of Opsgenie and of Jira Service Management.',
  payload: Payload,
  mapping: { name: 'Opsgenie' },
  deliveryId,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

/** Opsgenie sends no id, but a payload with the time of the change in nanoseconds is unique. */
function deliveryId({ payload }: PresetRequest<Payload>) {
  const content = JSON.stringify(payload)
  return payload.alert.updatedAt ? hash('sha256', content) : { subject: payload.alert.alertId, content }
}

const silent: ReadonlySet<string> = new Set([
  'AddTags',
  'RemoveTags',
  'AddDetails',
  'RemoveDetails',
  'UpdateDescription',
  'UpdateMessage',
  'Seen',
  'UnSeen',
])

function toAction({ payload }: PresetRequest<Payload>) {
  const { action, alert, escalationName, integrationName, source } = payload
  if (silent.has(action) || isOwnNote(payload)) return null
  const isNew = action === 'Create'
  const priorities = [action === 'UpdatePriority' && alert.oldPriority, alert.priority].filter(Boolean)
  const message = eventMessage('Opsgenie', {
    head: headOf(payload),
    details: [
      escalationName && `Escalation: ${escalationName}`,
      priorities.length > 0 && `Priority: ${priorities.join(' → ')}`,
      alert.entity && `Entity: ${alert.entity}`,
      isNew && source?.name && `Source: ${source.name}`,
      isNew && timeOf(alert.createdAt) && `Since: ${timeOf(alert.createdAt)}`,
      integrationName && `Integration: ${integrationName}`,
    ],
    link: `https://app.opsgenie.com/alert/detail/${encodeURIComponent(line(alert.alertId, 200))}/details`,
    text: alert.note || (isNew ? alert.description : undefined),
  })
  return { message, sessionKey: `hook:opsgenie:${line(alert.alertId, 200)}` }
}

/** Notes of programs are skipped: an agent that adds notes would otherwise answer its own notes. */
const isOwnNote = ({ action, source }: Payload): boolean =>
  action === 'AddNote' && source?.type?.toLowerCase() === 'api'

const verbs: Readonly<Record<string, string>> = {
  Acknowledge: 'acknowledged',
  UnAcknowledge: 'took back the acknowledgement of',
  Close: 'closed',
  Delete: 'deleted',
  AddNote: 'added a note to',
  TakeOwnership: 'took ownership of',
  UpdatePriority: 'changed the priority of',
}

function headOf({ action, alert }: Payload): string {
  const what = nameOf(alert)
  const who = line(alert.username, 100) || 'Somebody'
  const verb = entryOf(verbs, action)
  if (verb !== undefined) return `${who} ${verb} ${what}`
  switch (action) {
    case 'Create':
      return `new ${what}`
    case 'Escalate':
      return `${what} was escalated`
    case 'Snooze': {
      const end = timeOf(alert.snoozeEndDate ?? alert.snoozedUntil)
      return words(`${who} snoozed ${what}`, end && `until ${end}`)
    }
    case 'SnoozeEnded':
      return `${what} is no longer snoozed`
    case 'AssignOwnership':
      return `${who} assigned ${what} to ${line(alert.owner, 100) || 'somebody'}`
    case 'AddTeam':
    case 'AddRecipient':
    case 'AddResponder':
      return `${who} added ${addedTo(alert)} to ${what}`
    default:
      return `${who} ran the action ${quote(action, 100)} on ${what}`
  }
}

function addedTo({ team, recipient, responder }: Alert): string {
  const responders = [responder ?? []].flat().map((each) => {
    return typeof each === 'string' ? each : each.name || each.username || words(each.type, each.id)
  })
  return line(team || recipient || responders.filter(Boolean).join(', '), 200) || 'a responder'
}

const nameOf = ({ tinyId, message }: Alert): string =>
  words('alert', tinyId ? `#${line(String(tinyId), 50)}` : '', quote(message, 200))

/** Times are texts, or numbers of seconds, milliseconds or nanoseconds since 1970. */
function timeOf(time: Alert['createdAt']): string {
  const number = Number(time)
  if (typeof time === 'string' && Number.isNaN(number)) return line(time, 50)
  const date = new Date(number > 1e15 ? number / 1e6 : number < 1e11 ? number * 1000 : number)
  return time && !Number.isNaN(date.getTime()) ? date.toISOString() : ''
}
