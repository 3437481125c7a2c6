// Every preset: its messages for accepted payloads, what it skips and refuses, and that no payload can break it.
import examples from '@octokit/webhooks-examples'
import { describe, expect, it } from 'vitest'
import { eventHandlers as githubHandlers } from '../../plugins/presets/github/event-handlers.ts'
import { eventHandlers as gitlabHandlers } from '../../plugins/presets/gitlab/event-handlers.ts'
import { presetContract } from '../contracts.ts'
import { now, samples, stamp } from '../hooks/signing.ts'
import { loadPresets } from './deliver.ts'
import { valueAt, withValue } from './mutations.ts'
import { payloads } from './payloads.ts'
import type { Sample } from './sample.ts'

const presets = await loadPresets()
const names = [...presets.keys()]
const get = (name: string) => presets.get(name)!

/** One example of each GitHub event, in addition to the handwritten payloads. */
const octokit = (examples as unknown as { name: string; examples: unknown[] }[]).map(
  ({ name, examples: [payload] }): Sample => {
    return { what: name, payload, headers: { 'x-github-event': name, 'x-github-delivery': 'd' } }
  },
)
const toldOf = (name: string): readonly Sample[] => [
  ...(name === 'github' ? octokit : []),
  ...(payloads[name]?.told ?? []),
]

/** What to replace in a payload to make it one about another subject, where all payloads are about the same. */
const otherSubjects: Readonly<Record<string, readonly [string, string]>> = {
  'discord-interactions': ['"645027906669510667"', '"645027906669510668"'],
  pagerduty: ['"id":"P1"', '"id":"P2"'],
  trello: ['"id":"c1"', '"id":"c2"'],
}

function aboutAnother(name: string): Sample[] {
  const [sample] = payloads[name]?.told ?? []
  const change = otherSubjects[name]
  if (!sample || !change) return []
  const payload: unknown = JSON.parse(JSON.stringify(sample.payload).replaceAll(...change))
  return [{ ...sample, what: 'another subject', payload }]
}

/** Where each service puts what identifies a webhook, where the payloads share it: a header, or paths in the payload. */
const idPlaces: Readonly<Record<string, string | readonly (readonly string[])[]>> = {
  circleci: [['id']],
  'discord-interactions': [['id']],
  github: 'x-github-delivery',
  jira: [['comment', 'self']],
  netlify: [['id']],
  pagerduty: [['event', 'id']],
  slack: [['event_id'], ['event', 'ts']],
  stripe: [['id']],
}

/** The same webhooks with an id of their own each, as the service sends them. */
const withOwnIds = (name: string, samples: readonly Sample[]): Sample[] =>
  samples.map((sample, index) => {
    const places = idPlaces[name] ?? []
    if (typeof places === 'string') return { ...sample, headers: { ...sample.headers, [places]: `d${index}` } }
    const present = places.filter((path) => typeof valueAt(sample.payload, path) === 'string')
    const rename = (payload: unknown, path: readonly string[]) =>
      withValue(payload, path, `${String(valueAt(payload, path))}${index}`)
    return { ...sample, payload: present.reduce(rename, sample.payload) }
  })

describe('the presets', () => {
  it('all have payloads here', () => {
    expect(names.toSorted()).toEqual(Object.keys(payloads).toSorted())
  })

  it.each(names)('%s declares only a name in its mapping', (name) => {
    expect(Object.keys(get(name).preset.mapping)).toEqual(['name'])
  })
})

describe('the samples', () => {
  it('have every event of GitHub and GitLab that has a handler', () => {
    const github = new Set(toldOf('github').map(({ headers }) => headers?.['x-github-event']))
    expect(Object.keys(githubHandlers).filter((event) => !github.has(event))).toEqual([])
    const { told, silent } = payloads['gitlab']!
    const gitlab = new Set([...told, ...silent].map(({ payload }) => kindOf(payload)))
    expect(Object.keys(gitlabHandlers).filter((event) => !gitlab.has(event))).toEqual([])
  })
})

function kindOf(payload: unknown): string | undefined {
  const { object_kind: kind, event_name: name } = payload as { object_kind?: string; event_name?: string }
  return kind ?? name
}

for (const name of names) {
  const { preset } = get(name)
  const sample = samples.find(({ scheme }) => scheme === preset.auth?.scheme)
  const signed = payloads[name]?.signed ?? (sample && { auth: sample.auth, at: now, ...sample.send(stamp(sample)) })
  presetContract(preset, {
    accepted: withOwnIds(name, [
      ...toldOf(name).filter(({ payload, headers }) => get(name).judge(payload, headers) !== 'skipped'),
      ...aboutAnother(name),
    ]),
    skipped: payloads[name]?.silent ?? [],
    refused: payloads[name]?.wrong ?? [],
    ...(signed ? { signed } : { hookToken: preset.auth === undefined }),
  })
}

describe.each(names)('the preset %s', (name) => {
  it('makes the expected messages', async () => {
    const told = (payloads[name]?.told ?? []).map(
      ({ what, payload, headers }) => `== ${what} → ${textOf(name, payload, headers)}`,
    )
    await expect(`${told.join('\n\n')}\n`).toMatchFileSnapshot(`golden/${name}.txt`)
  })
})

describe.each(names)('the preset %s', (name) => {
  it('gives each action a message and a session key of its own service', () => {
    for (const { what, payload, headers } of toldOf(name)) {
      const judged = get(name).judge(deepFrozen(payload), headers)
      for (const { message, sessionKey, ...others } of Array.isArray(judged) ? judged : []) {
        expect(message, `of ${what}`).toMatch(/\S/)
        expect(message, `of ${what}`).not.toMatch(/ undefined\b|undefined |\bnull\b|NaN|\[object/)
        expect(message?.length, `of ${what}`).toBeLessThan(32_000)
        expect(sessionKey, `of ${what}`).toMatch(new RegExp(`^hook:${name}:\\S`))
        expect(others).toEqual({})
      }
      expect(get(name).judge(payload, headers)).toEqual(judged)
    }
  })

  it('returns the same delivery id for the same request', () => {
    const { idOf } = get(name)
    for (const { what, payload, headers } of toldOf(name)) {
      expect(idOf(structuredClone(payload), headers && { ...headers }), `of ${what}`).toEqual(idOf(payload, headers))
    }
    const ids = toldOf(name).map(({ payload, headers }) => idOf(payload, headers))
    if (name === 'alertmanager' || name === 'grafana')
      expect(new Set(ids.map((id) => JSON.stringify(id))).size).toBe(ids.length)
  })
})

function textOf(name: string, payload: unknown, headers?: Record<string, string>): string {
  const judged = get(name).judge(payload, headers)
  return Array.isArray(judged)
    ? judged.map(({ message, sessionKey }) => `${sessionKey}\n${message}`).join('\n--\n')
    : JSON.stringify(judged)
}

function deepFrozen(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFrozen)
  return value
}
