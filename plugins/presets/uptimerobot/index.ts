// The preset for UptimeRobot: monitors that go down and come back, certificates that expire; one session per monitor.
import { entryOf, eventMessage, line, quote } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

// The operator writes the names of the fields, so they are read without regard to case and underscores.
const Payload = Type.Record(Type.String(), Type.Unknown())
type Payload = Static<typeof Payload>

export default definePreset<Payload>({
  name: 'uptimerobot',
  description: 'Monitors of UptimeRobot that go down and come back.',
  payload: Payload,
  mapping: { name: 'UptimeRobot' },
  // The time is that of the outage: a reminder repeats it.
  deliveryId({ payload }) {
    const fields = fieldsOf(payload)
    return { subject: monitorOf(fields), content: JSON.stringify(fields) }
  },
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

/** By `alertType`. The name of any other alert is its `alertTypeFriendlyName`. */
const states: Readonly<Record<string, string>> = {
  '1': 'is down',
  '2': 'is up again',
  '3': 'has a certificate that will expire soon',
}

function toAction({ payload }: PresetRequest<Payload>) {
  const fields = fieldsOf(payload)
  const { monitorid: id, monitorurl: url, monitorfriendlyname: name = url ?? id, alertdetails: details } = fields
  if (name === undefined)
    throw new InputError('monitorFriendlyName is required; it names the monitor. Send the fields of the documentation.')
  const { alerttype: type, alerttypefriendlyname: friendly = type } = fields
  if (friendly === undefined)
    throw new InputError('alertType is required; it says what happened. Send the fields of the documentation.')
  const duration = fields['alertfriendlyduration'] ?? (fields['alertduration'] && `${fields['alertduration']} seconds`)
  const state =
    entryOf(states, type) ?? entryOf(wordStates, friendly.toLowerCase()) ?? `reports ${quote(friendly, 100)}`
  const message = eventMessage('UptimeRobot', {
    head: `${line(name)} ${state}`,
    details: [
      details && `Details: ${details}`,
      duration && `Duration: ${duration}`,
      expiryOf(fields),
      fields['alertdatetime'] && `At: ${timeOf(fields['alertdatetime'])}`,
    ],
    link: url === name ? undefined : url,
  })
  return { message, sessionKey: `hook:uptimerobot:${monitorOf(fields)}` }
}

/** For a body that has `alertTypeFriendlyName` only. */
const wordStates: Readonly<Record<string, string>> = { down: 'is down', up: 'is up again' }

type Fields = Readonly<Record<string, string | undefined>>

const monitorOf = ({ monitorid: id, monitorurl: url, monitorfriendlyname: name }: Fields): string =>
  line(id ?? url ?? name)

function expiryOf({ sslexpirydate: date, sslexpirydaysleft: days }: Fields): string | undefined {
  if (date) return `Certificate expires: ${date}${days ? ` (${days} days left)` : ''}`
  return days && `Certificate expires: in ${days} days`
}

/** UptimeRobot sends seconds since 1970. */
function timeOf(text: string): string {
  const time = new Date(/^\d{9,11}$/.test(text) ? Number(text) * 1000 : Number.NaN)
  return Number.isNaN(time.getTime()) ? line(text, 100) : time.toISOString()
}

/** A variable without a value stays in the text as it was written: `*sslExpiryDate*`. */
function fieldsOf(payload: Payload): Fields {
  const entries = Object.entries(payload).flatMap(([name, value]) => {
    const text = ['number', 'bigint', 'string'].includes(typeof value) ? line(String(value), 2000) : ''
    const key = name.toLowerCase().replaceAll('_', '')
    return text === '' || /^\*\w+\*$/.test(text) ? [] : [[key, text] as const]
  })
  return Object.fromEntries(entries)
}
