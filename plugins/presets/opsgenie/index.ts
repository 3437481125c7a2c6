// The preset for Opsgenie: alerts and what people do about them; one session per alert.
import { clip, entryOf, lines, Maybe } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())

const Payload = Type.Object({
  action: Type.String({ minLength: 1 }),
  escalationName: Text,
  integrationName: Text,
  source: Maybe(Type.Object({ name: Text, type: Text })),
  alert: Type.Object({
    alertId: Type.String({ minLength: 1 }),
    tinyId: Maybe(Type.Union([Type.String(), Type.Number()])),
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
    responder: Type.Optional(Type.Unknown()),
    snoozeEndDate: Type.Optional(Type.Unknown()),
    updatedAt: Maybe(Type.Union([Type.String(), Type.Number()])),
  }),
})
type Payload = Static<typeof Payload>
type Alert = Payload['alert']

export default definePreset<Payload>({
  name: 'opsgenie',
  description: 'Alerts of Opsgenie and of Jira Service Management.',
  payload: Payload,
  mapping: { name: 'Opsgenie' },
  // Opsgenie sends no id. The time of the change is in nanoseconds, so each change has its own.
  deliveryId: ({ payload: { action, alert } }) =>
    alert.updatedAt ? `${alert.alertId} ${action} ${alert.updatedAt}` : undefined,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

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
  const message = lines(
    `Opsgenie: ${headOf(payload)}`,
    escalationName && `Escalation: ${escalationName}`,
    action === 'UpdatePriority' && alert.priority
      ? `Priority: ${[alert.oldPriority, alert.priority].filter(Boolean).join(' → ')}`
      : alert.priority && `Priority: ${alert.priority}`,
    alert.entity && `Entity: ${clip(alert.entity, 300)}`,
    action === 'Create' && source?.name && `Source: ${source.name}`,
    integrationName && `Integration: ${integrationName}`,
    `https://app.opsgenie.com/alert/detail/${encodeURIComponent(alert.alertId)}/details`,
    alert.note && `\n${clip(alert.note)}`,
    action === 'Create' && alert.description && `\n${clip(alert.description)}`,
  )
  return { message, sessionKey: `hook:opsgenie:${alert.alertId}` }
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
  Snooze: 'snoozed',
}

function headOf({ action, alert }: Payload): string {
  const what = nameOf(alert)
  const who = alert.username || 'Somebody'
  const verb = entryOf(verbs, action)
  if (verb !== undefined) return `${who} ${verb} ${what}`
  switch (action) {
    case 'Create':
      return `new ${what}`
    case 'Escalate':
      return `${what} was escalated`
    case 'SnoozeEnded':
      return `${what} is no longer snoozed`
    case 'AssignOwnership':
      return `${who} assigned ${what} to ${alert.owner || 'somebody'}`
    case 'AddTeam':
    case 'AddRecipient':
    case 'AddResponder':
      return `${who} added ${alert.team || alert.recipient || 'a responder'} to ${what}`
    default:
      return `${who} ran the action "${clip(action, 100)}" on ${what}`
  }
}

const nameOf = ({ tinyId, message }: Alert): string =>
  ['alert', tinyId && `#${tinyId}`, message && `"${clip(message, 300)}"`].filter(Boolean).join(' ')
