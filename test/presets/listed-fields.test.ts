// Presets that list the fields of rarer events, which no schema names: whatever a field is, nothing fails, no line is
// forged and nothing is hidden.
import { describe, expect, it } from 'vitest'
import { loadPresets } from './deliver.ts'
import { forgedLine, hidden, hostileText, jsonValues, type Path, withValue } from './mutations.ts'
import { payloads } from './payloads.ts'

const presets = await loadPresets()
const names = ['shopify', 'stripe', 'slack', 'netlify', 'discord-interactions', 'standard-webhooks']
const values: readonly unknown[] = [
  ...jsonValues,
  hostileText,
  2 ** 60,
  ['a', hostileText],
  { a: hostileText },
  [null, { name: hostileText, quantity: hostileText }],
  Array.from({ length: 200 }, () => ({ name: 'y'.repeat(200) })),
]

/** The paths to all fields, and to the first element of each list. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null || path.length === 6) return []
  return Object.entries(value)
    .slice(0, Array.isArray(value) ? 1 : undefined)
    .flatMap(([key, inner]) => [path.concat(key)].concat(pathsOf(inner, path.concat(key)) as string[][]))
}

function faultsOf(message: string): string[] {
  const lines = (message.split('\n\n', 1)[0] ?? '').split('\n')
  return [
    ...(hidden.test(message) ? ['has hidden characters'] : []),
    ...(lines.some((line) => line.startsWith(forgedLine)) ? ['has a forged line'] : []),
    ...(/\bundefined\b|\bNaN\b|\[object/.test(message) ? ['shows no value'] : []),
    ...(message.length > 16_000 ? ['is too long'] : []),
  ]
}

describe.each(names)('the preset %s', (name) => {
  it('reads any value of any field', () => {
    const { judge } = presets.get(name)!
    const faults = new Set<string>()
    for (const { payload, headers } of payloads[name]!.told)
      for (const path of pathsOf(payload))
        for (const value of values) {
          const judged = judge(withValue(payload, path, value), headers)
          const messages = Array.isArray(judged) ? judged.map(({ message = '' }) => message) : []
          for (const fault of messages.flatMap(faultsOf)) faults.add(`${path.join('.')}: ${fault}`)
        }
    expect([...faults]).toEqual([])
  })
})
