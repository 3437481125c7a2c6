// Every preset with every sample, one field at a time: removed, null, or something else. Nothing may break, and the
// message must stay a clean text without the field.
import examples from '@octokit/webhooks-examples'
import { describe, expect, it } from 'vitest'
import { type Judged, loadPresets } from './deliver.ts'
import { type Path, pathsOf, type Schema, withValue } from './mutations.ts'
import { payloads } from './payloads.ts'
import type { Sample } from './sample.ts'

const presets = await loadPresets()

/** One example of each event and action of GitHub. */
const octokit = (examples as unknown as { name: string; examples: { action?: string }[] }[]).flatMap(
  ({ name, examples }): Sample[] =>
    [...new Map(examples.map((payload) => [payload.action, payload])).values()].map((payload) => ({
      what: `${name} ${payload.action ?? ''}`,
      payload,
      headers: { 'x-github-event': name, 'x-github-delivery': 'd' },
    })),
)

const samplesOf = (name: string): Sample[] => [
  ...(name === 'github' ? octokit : []),
  ...(payloads[name]?.told ?? []),
  ...(payloads[name]?.silent ?? []),
]

/** Fields that name who acts. Only without them may a message say "Somebody". */
const actors: Readonly<Record<string, RegExp>> = {
  github: /^sender(?:\.login)?$/,
  gitlab: /^user(?:_name|_username)?$/,
  linear: /^(?:actor|data\.user|data\.externalUser)(?:\.name)?$/,
  sentry: /^actor(?:\.name)?$/,
  slack: /^event(?:\.user)?$/,
}

const odd: readonly unknown[] = [
  0,
  -1,
  1e300,
  '',
  ' ',
  'x',
  true,
  [],
  {},
  [null],
  ['x'],
  { id: {} },
  '__proto__',
  'constructor',
  'x'.repeat(50_000),
]

describe.each([...presets])('the preset %s', (name, { preset, judge }) => {
  it('writes a clean message of each sample, and without any one of its fields', () => {
    for (const { what, payload, headers } of samplesOf(name)) {
      const whole = messagesOf(judge(payload, headers))
      for (const message of whole) expectClean(message, what)
      for (const path of pathsOf(payload, [preset.payload as Schema])) {
        for (const value of [undefined, null]) {
          const where = `${what} with ${path.join('.')} = ${String(value)}`
          const messages = messagesOf(judge(withValue(payload, path, value), headers))
          for (const message of messages) expectClean(message, where)
          if (whole.length > 0 && !isActor(name, path) && !whole.join().includes('Somebody'))
            expect(messages.join(), where).not.toContain('Somebody')
        }
      }
    }
  })

  it('never throws anything but InputError, whatever a value is replaced with', () => {
    for (const { what, payload, headers } of samplesOf(name)) {
      for (const path of pathsOf(payload, [preset.payload as Schema])) {
        for (const value of odd) {
          const changed = withValue(payload, path, value)
          const judged = judge(changed, headers)
          const where = `${what} with ${path.join('.')}`
          const id = preset.deliveryId?.({ payload: changed, headers: headers ?? {}, config: {} })
          if (Array.isArray(judged) && id !== undefined) expect(typeof id, where).toBe('string')
          for (const { message, sessionKey } of Array.isArray(judged) ? judged : []) {
            expect(message, where).toMatch(/\S/)
            expect(message, where).not.toMatch(/\bundefined\b|\bnull\b|\bNaN\b|\[object/)
            expect(sessionKey, where).toMatch(/^hook:/)
          }
        }
      }
    }
  })
})

const isActor = (name: string, path: Path): boolean => actors[name]?.test(path.join('.')) ?? false

const messagesOf = (judged: Judged): string[] =>
  Array.isArray(judged) ? judged.map(({ message }) => message ?? '') : []

/** The body, after the first blank line, is the text of a person: only the part above it is ours. */
function expectClean(message: string, where: string): void {
  expect(message, where).not.toMatch(/\bundefined\b|\bnull\b|\bNaN\b|\[object/)
  expect(message, where).toBe(message.trim())
  const head = message.split('\n\n', 1)[0] ?? ''
  expect(head, where).not.toMatch(/\S {2}|[ \t]$|"" |\(\)|: *,|^\s*$/m)
}
