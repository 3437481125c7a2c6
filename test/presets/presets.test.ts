// Every preset: what it says of good payloads, what it keeps to itself, what it refuses, and that nothing in a payload
// can break it.
import examples from '@octokit/webhooks-examples'
import { describe, expect, it } from 'vitest'
import { hookAuthRules } from '../../core/config/rules/hook-auth.ts'
import { type HookAuth, HookAuth as HookAuthSchema } from '../../core/config/schema/hook-auth.ts'
import { findFault } from '../../core/loader/verify.ts'
import { compileCheck } from '../../core/typebox.ts'
import { loadPresets } from './deliver.ts'
import { payloads, type Sample } from './payloads.ts'

const presets = await loadPresets()
const names = [...presets.keys()]
const get = (name: string) => presets.get(name)!

/** One of each of GitHub's events joins those that are written by hand. */
const octokit = (examples as unknown as { name: string; examples: unknown[] }[]).map(
  ({ name, examples: [payload] }): Sample => {
    return { what: name, payload, headers: { 'x-github-event': name, 'x-github-delivery': 'd' } }
  },
)
const toldOf = (name: string): readonly Sample[] => (name === 'github' ? octokit : (payloads[name]?.told ?? []))

describe('the presets', () => {
  it('are all tried', () => {
    expect(names.toSorted()).toEqual(Object.keys(payloads).toSorted())
  })

  it.each(names)('%s is declared without fault', (name) => {
    const { preset } = get(name)
    expect(findFault(preset, { compile: true })).toBeUndefined()
    expect(Object.keys(preset.mapping)).toEqual(['name'])
    if (!preset.auth) return
    const google = { audience: 'a', email: 'e' }
    const auth = {
      ...preset.auth,
      ...(preset.auth.scheme === 'google-oidc' ? google : { secret: 'whsec_c2VjcmV0' }),
    } as HookAuth
    expect(compileCheck(HookAuthSchema).problems(auth)).toEqual([])
    expect([...hookAuthRules(auth)]).toEqual([])
  })
})

describe.each(names.filter((name) => name !== 'github'))('the preset %s', (name) => {
  it('says what happened, where, and where to look', async () => {
    const told = toldOf(name).map(({ what, payload, headers }) => `== ${what} → ${textOf(name, payload, headers)}`)
    await expect(`${told.join('\n\n')}\n`).toMatchFileSnapshot(`golden/${name}.txt`)
  })

  it('keeps to itself what nobody needs to hear of', () => {
    for (const { what, payload, headers } of payloads[name]?.silent ?? [])
      expect(get(name).judge(payload, headers), `of ${what}`).toBe('skipped')
  })
})

describe.each(names)('the preset %s', (name) => {
  it('refuses what is wrong, and says where', () => {
    const wrong = payloads[name]?.wrong ?? []
    expect(wrong.length).toBeGreaterThanOrEqual(5)
    for (const { what, payload, headers } of wrong)
      expect(get(name).judge(payload, headers), `of ${what}`).toEqual({ refused: expect.stringMatching(/\w/) })
  })

  it('gives each a message and a session of its own service', () => {
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

  it('names the same delivery alike, and another one differently', () => {
    const { preset } = get(name)
    for (const { what, payload, headers = {} } of toldOf(name)) {
      const id = preset.deliveryId?.({ payload, headers, config: {} })
      expect(
        preset.deliveryId?.({ payload: structuredClone(payload), headers: { ...headers }, config: {} }),
        `of ${what}`,
      ).toBe(id)
    }
    const ids = toldOf(name).map(({ payload, headers = {} }) => preset.deliveryId?.({ payload, headers, config: {} }))
    if (name === 'alertmanager' || name === 'grafana') expect(new Set(ids).size).toBe(ids.length)
  })

  it('breaks at nothing that stands in place of a value', () => {
    const odd: unknown[] = [
      null,
      0,
      -1,
      '',
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
    for (const { what, payload, headers } of [...toldOf(name), ...(payloads[name]?.silent ?? [])]) {
      for (const path of pathsOf(payload)) {
        for (const value of odd) {
          const judged = get(name).judge(withValue(payload, path, value), headers)
          for (const { message, sessionKey } of Array.isArray(judged) ? judged : []) {
            expect(typeof message, `${what} ${path.join('.')}`).toBe('string')
            expect(sessionKey, `${what} ${path.join('.')}`).toMatch(/^hook:/)
          }
        }
      }
    }
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

/** The way to every value, as far as presets look. */
function pathsOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null || path.length === 5) return []
  const paths = Object.keys(value)
    .slice(0, 60)
    .map((key) => path.concat(key))
  return paths.flatMap((inner) =>
    [inner].concat(pathsOf((value as Record<string, unknown>)[inner.at(-1) ?? ''], inner)),
  )
}

function withValue(payload: unknown, [key = '', ...rest]: string[], value: unknown): unknown {
  const copy = (Array.isArray(payload) ? [...(payload as unknown[])] : { ...(payload as object) }) as Record<
    string,
    unknown
  >
  copy[key] = rest.length === 0 ? value : withValue(copy[key], rest, value)
  return copy
}
