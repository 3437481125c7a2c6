// Every preset, every sample, every field that the schema names: no optional field refuses a webhook, and no value that
// a sender chooses forges a line, hides characters, makes a message or a session key too long, or takes long to read.
import { describe, expect, it } from 'vitest'
import { isId, type Judged, loadPresets } from './deliver.ts'
import {
  absentTexts,
  forgedLine,
  hidden,
  hostileText,
  isRequired,
  jsonValues,
  longTexts,
  oddNumbers,
  type Path,
  pathsOf,
  type Schema,
  valueAt,
  withValue,
} from './mutations.ts'
import { payloads } from './payloads.ts'
import type { Sample } from './sample.ts'

const presets = await loadPresets()

/** The most characters of a message, of all messages of one webhook, and of a session key. */
const longestMessage = 16_000
const longestMessages = 32_000
/** Each mail starts a run of its own, and is longer than a message about an event. */
const longestMail = 22_000
const longestKey = 512

describe.each([...presets])('the preset %s', { timeout: 120_000 }, async (name, { preset, judge, idOf }) => {
  const schema = preset.payload as Schema
  const own = (await preset.samples?.({ id: 'e0c1a8f2', now: '2030-01-31T09:00:00Z' })) ?? []
  const samples: Sample[] = [
    ...(payloads[name]?.told ?? []),
    ...own.map(({ name: what, payload, headers = {} }) => ({ what, payload, headers })),
  ]

  /** Calls `examine` with each field of each sample. Returns what it finds or throws, once for each path. */
  function examineFields(examine: (field: Field) => readonly string[]): string[] {
    const faults = new Map<string, string>()
    for (const sample of samples) {
      const { what, payload } = sample
      for (const path of [...pathsOf(payload, [schema]), ...absentTexts(payload, [schema])]) {
        const field = { ...sample, path, value: valueAt(payload, path) }
        for (const fault of caught(() => examine(field))) faults.set(`${path.join('.')}: ${fault}`, what)
      }
    }
    return [...faults].map(([fault, what]) => `${what}: ${fault}`)
  }

  const actionsOf = (judged: Judged) => (Array.isArray(judged) ? judged : [])

  const leaksOf = (judged: Judged): string[] =>
    actionsOf(judged).flatMap(({ message = '' }) => (leaked.test(message) ? [JSON.stringify(message)] : []))

  /** What is wrong with the actions of a payload, whatever its texts are. */
  function faultsOf(payload: unknown, headers: Sample['headers'] = {}): string[] {
    const actions = actionsOf(judge(payload, headers))
    const messages = actions.map(({ message = '' }) => message)
    const keys = actions.map(({ sessionKey = '' }) => sessionKey)
    const id = idOf(payload, headers)
    const faults = {
      'a message is too long': messages.some(
        ({ length }) => length > (name === 'gmail' ? longestMail : longestMessage),
      ),
      'all messages are too long': name !== 'gmail' && messages.join('').length > longestMessages,
      'a message has hidden characters': messages.some((message) => hidden.test(message)),
      'a message has a forged line': messages.flatMap(linesAboveText).some((line) => line.startsWith(forgedLine)),
      'a session key is too long': keys.some(({ length }) => length > longestKey),
      'a session key has hidden characters': keys.some((key) => /[\n\t]/.test(key) || hidden.test(key)),
      'the id is no text': !isId(id),
    }
    return Object.entries(faults).flatMap(([fault, isTrue]) => (isTrue ? [fault] : []))
  }

  it('is never refused for an optional field of another type', () => {
    const valuesOf = inTurn(jsonValues)
    const faults = examineFields(({ path, value: before, payload, headers }) =>
      before === undefined
        ? []
        : valuesOf(path).flatMap((value) => {
            const judged = judge(withValue(payload, path, value), headers)
            const mayRefuse = isRequired(schema, path) || needed[name]?.includes(path.join('.'))
            const isRefused = 'refused' in Object(judged) && !mayRefuse
            return [...(isRefused ? ['refused'] : []), ...leaksOf(judged)].map(
              (fault) => `${JSON.stringify(value)}: ${fault}`,
            )
          }),
    )
    expect(faults).toEqual([])
  })

  it('writes numbers of any size', () => {
    const faults = examineFields(({ path, value: before, payload, headers }) =>
      typeof before === 'number' || isNumeral(before)
        ? oddNumbers.flatMap((value) => leaksOf(judge(withValue(payload, path, value), headers)))
        : [],
    )
    expect(faults).toEqual([])
  })

  it('lets no text forge a line, hide characters, or make a message or session key too long', () => {
    const valuesOf = inTurn([hostileText, veryLong])
    const faults = examineFields(({ path, value: before, payload, headers }) =>
      isText(before) ? valuesOf(path).flatMap((value) => faultsOf(withValue(payload, path, value), headers)) : [],
    )
    expect(faults).toEqual([])
  })

  it('lets no long list make a message too long', () => {
    const faults = examineFields(({ path, value: before, payload, headers }) => {
      const index = path.findLastIndex((key) => /^\d+$/.test(key))
      if (index === -1 || !isText(before)) return []
      const filled = withValue(payload, path, [before, 'x'.repeat(3000)].join(' ').trim())
      const element = valueAt(filled, path.slice(0, index + 1))
      return faultsOf(
        withValue(
          filled,
          path.slice(0, index),
          Array.from({ length: 200 }, () => element),
        ),
        headers,
      )
    })
    expect(faults).toEqual([])
  })

  it('reads long texts in linear time', () => {
    const textsOf = inTurn(longTexts)
    const faults = examineFields(({ path, value: before, payload, headers }) =>
      isText(before)
        ? textsOf(path).flatMap((textOf) => {
            const cost = (length: number) => cpuTimeOf(() => judge(withValue(payload, path, textOf(length)), headers))
            return growsLinearly(cost) ? [] : [`takes too long with ${JSON.stringify(textOf(10))}`]
          })
        : [],
    )
    expect(faults).toEqual([])
  })
})

/** Fields without which a payload is refused, which its schema cannot say: one of several, or only in some events. */
const needed: Readonly<Record<string, readonly string[]>> = {
  gitlab: ['object_kind', 'event_name'],
  gmail: ['messages', 'history', 'message', 'message.data', 'emailAddress'],
  'discord-interactions': ['data'],
  slack: ['event', 'event.type'],
  grafana: ['title'],
  'home-assistant': ['message', 'entity_id'],
  linear: ['data'],
  sentry: ['data', 'data.issue', 'data.event', 'data.error', 'data.metric_alert', 'event', 'url'],
  uptimerobot: [
    'monitorID',
    'monitorURL',
    'monitor_url',
    'monitorFriendlyName',
    'monitor_friendly_name',
    'alertType',
    'alertTypeFriendlyName',
    'alert_type_friendly_name',
  ],
}

interface Field extends Sample {
  path: Path
  value: unknown
}

/** Returns all values for the first sample that has a path, and one in turn for each further one, which is faster. */
function inTurn<Value>(values: readonly Value[]): (path: Path) => readonly Value[] {
  const turns = new Map<string, number>()
  return (path) => {
    const turn = turns.get(path.join('.'))
    turns.set(path.join('.'), (turn ?? -1) + 1)
    return turn === undefined ? values : [values[turn % values.length]!]
  }
}

const leaked = /\bundefined\b|\bNaN\b|\[object/
const veryLong = 'x'.repeat(100_000)

/** The lines that the preset writes: what somebody wrote comes after an empty line. */
const linesAboveText = (message: string): string[] => (message.split('\n\n', 1)[0] ?? '').split('\n')

const isText = (value: unknown): boolean => typeof value === 'string' || value === undefined

const isNumeral = (value: unknown): boolean => typeof value === 'string' && /^\d+$/.test(value)

function caught(examine: () => readonly string[]): readonly string[] {
  try {
    return examine()
  } catch (error) {
    return [String(error)]
  }
}

/**
 * Whether four times the length costs at most eight times as much: four times if it is linear, 16 times if it is
 * quadratic. What costs next to nothing is not compared: an expression that takes quadratic time needs fifty
 * milliseconds or more for 10,000 characters, and 800 for 40,000.
 */
function growsLinearly(cost: (length: number) => number): boolean {
  if (cost(10_000) < 15) return true
  const best = (length: number) => Math.min(...Array.from({ length: 3 }, () => cost(length)))
  const longer = best(40_000)
  return longer < 200 || longer <= 8 * best(10_000)
}

function cpuTimeOf(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
