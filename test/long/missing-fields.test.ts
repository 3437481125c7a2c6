// Every preset with every sample, one field at a time: removed, null, or something else. Nothing may break, and the
// message must stay a clean text without the field.
import examples from '@octokit/webhooks-examples'
import { describe, expect, it } from 'vitest'
import { isId, type Judged, loadPresets } from '../presets/deliver.ts'
import {
  hostileText,
  jsonValues,
  oddNumbers,
  oddValues,
  type Path,
  pathsOf,
  readOnly,
  type Schema,
  withValue,
} from '../presets/mutations.ts'
import { payloads } from '../presets/payloads.ts'
import type { Sample } from '../presets/sample.ts'

const presets = await loadPresets()

const samplesOf = (name: string): Sample[] => [
  ...(name === 'github' ? octokit : []),
  ...(payloads[name]?.told ?? []),
  ...(payloads[name]?.silent ?? []),
]

/** One example of each event and action of GitHub. */
const octokit = (examples as unknown as { name: string; examples: { action?: string }[] }[]).flatMap(
  ({ name, examples }): Sample[] =>
    [...new Map(examples.map((payload) => [payload.action, payload])).values()].map((payload) => ({
      what: `${name} ${payload.action ?? ''}`,
      payload: readOnly(payload, [presets.get('github')!.preset.payload as Schema]),
      headers: { 'x-github-event': name, 'x-github-delivery': 'd' },
    })),
)

/** Fields that name who acts. Only without them may a message say "Somebody". */
const actors: Readonly<Record<string, RegExp>> = {
  bitbucket: /^actor$/,
  'discord-interactions': /^(?:user|member(?:\.user)?)$/,
  gitea: /^sender$/,
  github: /^sender(?:\.login)?$/,
  gitlab: /^user(?:_name|_username)?$/,
  jira: /^(?:user|comment|comment\.author)(?:\.displayName)?$/,
  linear: /^(?:actor|data\.user|data\.externalUser)(?:\.(?:name|service))?$/,
  opsgenie: /^alert\.username$/,
  sentry: /^actor(?:\.name)?$/,
  slack: /^event(?:\.(?:\w*user(?:_id)?|channel(?:\.creator)?|subteam(?:\.\w+_by)?|\w+_(?:thread|request).*))?$/,
  trello: /^action\.memberCreator$/,
}

describe.each([...presets])('the preset %s', (name, { preset, judge, idOf }) => {
  it('writes a clean message of each sample, and without any one of its fields', () => {
    const faults: string[] = []
    for (const { what, payload, headers } of samplesOf(name)) {
      const whole = messagesOf(judge(payload, headers))
      faults.push(...whole.flatMap((message) => faultsOf(message, what)))
      for (const path of pathsOf(payload, [preset.payload as Schema])) {
        for (const value of [undefined, null]) {
          const where = `${what} with ${path.join('.')} = ${String(value)}`
          const messages = messagesOf(judge(withValue(payload, path, value), headers))
          faults.push(...messages.flatMap((message) => faultsOf(message, where)))
          const wasNamed = whole.length > 0 && !whole.join().includes('Somebody')
          if (wasNamed && !isActor(name, path) && messages.join().includes('Somebody'))
            faults.push(`Somebody: ${where}`)
        }
      }
    }
    expect(faults).toEqual([])
  })

  it('never throws anything but InputError, whatever a value is replaced with', () => {
    const faults: string[] = []
    for (const { what, payload, headers = {} } of samplesOf(name)) {
      for (const path of pathsOf(payload, [preset.payload as Schema])) {
        for (const value of [...jsonValues, ...oddValues, ...oddNumbers, hostileText]) {
          const changed = withValue(payload, path, value)
          const judged = judge(changed, headers)
          if (!Array.isArray(judged)) continue
          const id = idOf(changed, headers)
          const areTexts = judged.every(({ message, sessionKey }) => message?.trim() && sessionKey?.startsWith('hook:'))
          const leaks = judged.some(({ message = '' }) => leaked.test(message.slice(0, 5000)))
          if (!areTexts || leaks || !isId(id))
            faults.push(`${what} with ${path.join('.')} = ${JSON.stringify(value).slice(0, 50)}`)
        }
      }
    }
    expect(faults).toEqual([])
  })
})

const leaked = /\bundefined\b|\bnull\b|\bNaN\b|\[object/

const isActor = (name: string, path: Path): boolean => actors[name]?.test(path.join('.')) ?? false

const messagesOf = (judged: Judged): string[] =>
  Array.isArray(judged) ? judged.map(({ message }) => message ?? '') : []

/** The body, after the first blank line, is the text of a person: only the part above it is ours. */
function faultsOf(message: string, where: string): string[] {
  const head = message.split('\n\n', 1)[0] ?? ''
  const isClean =
    !leaked.test(message) && message === message.trim() && !/\S {2}|[ \t]$|"" |\(\)|: *,|^\s*$/m.test(head)
  return isClean ? [] : [`${where}: ${JSON.stringify(message.slice(0, 300))}`]
}
