// Compares the policy with a simpler oracle, in every combination of layer settings.
import { describe, expect, it } from 'vitest'
import { evaluatePolicy } from '../../core/tools/evaluate.ts'
import { type LayerConfig, resolveLayers, type Shape } from '../../core/tools/layers.ts'
import { createRandom, seed } from '../config/random.ts'

const profileStates = ['absent', 'full', 'minimal', 'coding'] as const
const listStates = ['absent', 'empty', 'allowed', 'other', 'denied', 'both'] as const
/** `applies`: the layer has no lists, so its default deny list applies. */
const guardStates = ['off', 'applies', 'allowed', 'other', 'denied', 'both'] as const
const httpStates = ['off', 'applies', 'lifted', 'denied', 'both'] as const
const tools = ['exec', 'sessions_spawn'] as const

type ListState = (typeof listStates)[number]

interface Case {
  tool: (typeof tools)[number]
  profile: (typeof profileStates)[number]
  providerProfile: (typeof profileStates)[number]
  /** tools, tools by provider, agent, agent by provider, group */
  lists: readonly ListState[]
  subagent: (typeof guardStates)[number]
  origin: (typeof guardStates)[number]
  http: (typeof httpStates)[number]
}

/** Both tools are in the profile `coding` and not in `minimal`. */
function expected({ tool, profile, providerProfile, lists, subagent, origin, http }: Case): boolean {
  if (profile === 'minimal' || providerProfile === 'minimal') return false
  if (lists.some((state) => state !== 'absent' && state !== 'allowed')) return false
  if (['other', 'denied', 'both'].includes(subagent) || ['other', 'denied', 'both'].includes(origin)) return false
  if (subagent === 'applies' && tool === 'sessions_spawn') return false
  if (origin === 'applies' && tool === 'exec') return false
  if (http === 'denied' || http === 'both') return false
  return !(http === 'applies' && tool === 'sessions_spawn')
}

function actual(one: Case): boolean {
  const [general, provider, agent, agentProvider, group] = one.lists.map((state) => listsOf(state, one.tool))
  const config: LayerConfig = {
    tools: {
      ...profileOf(one.profile),
      ...general,
      byProvider: { hosted: { ...profileOf(one.providerProfile), ...provider } },
      subagents: { tools: listsOf(one.subagent, one.tool) },
      byOrigin: { hook: listsOf(one.origin, one.tool) },
    },
    agents: { main: { tools: { ...agent, byProvider: { 'hosted/model': { ...agentProvider } } } } },
    gateway: { tools: httpOf(one), auth: { clients: [] } },
  }
  const shape: Shape = {
    caller: one.http === 'off' ? 'agent' : 'http',
    agentId: 'main',
    model: 'hosted/model',
    group: group && { path: 'channels.chat.groups.c1.tools', policy: group },
    isSubagent: one.subagent !== 'off',
    fromHook: one.origin !== 'off',
  }
  return evaluatePolicy(resolveLayers(config, shape), { name: one.tool }).allowed
}

const profileOf = (state: Case['profile']) => (state === 'absent' ? {} : { profile: state })

function listsOf(state: ListState | Case['subagent'], tool: string) {
  const allow = { empty: [], allowed: ['list', tool], other: ['list'], both: [tool] }[state as string]
  return { ...(allow && { allow }), ...((state === 'denied' || state === 'both') && { deny: ['list', tool] }) }
}

function httpOf({ http, tool }: Case) {
  return {
    ...((http === 'lifted' || http === 'both') && { allow: [tool] }),
    ...((http === 'denied' || http === 'both') && { deny: [tool] }),
  }
}

function product<Value>(values: readonly Value[], times: number): Value[][] {
  return times === 0 ? [[]] : product(values, times - 1).flatMap((rest) => values.map((value) => [...rest, value]))
}

function disagreements(cases: Iterable<Case>): { count: number; wrong: Case[] } {
  const wrong: Case[] = []
  let count = 0
  for (const one of cases) {
    count++
    if (actual(one) !== expected(one)) wrong.push(one)
  }
  return { count, wrong }
}

const calm = { subagent: 'off', origin: 'off', http: 'off' } as const
const silent: readonly ListState[] = ['absent', 'absent', 'absent', 'absent', 'absent']

describe('layers', () => {
  it('agree with the oracle in every combination of profiles and lists', () => {
    function* cases(): Iterable<Case> {
      for (const profile of profileStates)
        for (const providerProfile of profileStates)
          for (const lists of product(listStates, 5)) yield { tool: 'exec', profile, providerProfile, lists, ...calm }
    }
    expect(disagreements(cases())).toEqual({ count: 4 * 4 * 6 ** 5, wrong: [] })
  })

  it('agree with the oracle in every combination of subagent, origin and HTTP', () => {
    function* cases(): Iterable<Case> {
      for (const tool of tools)
        for (const profile of profileStates)
          for (const first of listStates)
            for (const subagent of guardStates)
              for (const origin of guardStates)
                for (const http of httpStates)
                  yield {
                    tool,
                    profile,
                    providerProfile: 'absent',
                    lists: [first, ...silent.slice(1)],
                    subagent,
                    origin,
                    http,
                  }
    }
    expect(disagreements(cases())).toEqual({ count: 2 * 4 * 6 * 6 * 6 * 5, wrong: [] })
  })

  // All of it at once would be 2 × 4 × 4 × 6⁵ × 180, some 45 million.
  it(`agree with the oracle in random samples of all settings (SEED=${seed})`, () => {
    const random = createRandom(seed)
    const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value
    const cases = Array.from({ length: 50_000 }, (): Case => ({
      tool: pick(tools),
      profile: pick(profileStates),
      providerProfile: pick(profileStates),
      // Mostly layers that let the tool through, or else nearly every case would be refused.
      lists: silent.map(() =>
        pick(['absent', 'allowed', 'absent', 'allowed', 'absent', 'allowed', pick(listStates)] as const),
      ),
      subagent: pick(guardStates),
      origin: pick(guardStates),
      http: pick(httpStates),
    }))
    expect(cases.filter(expected).length).toBeGreaterThan(500)
    expect(disagreements(cases).wrong.slice(0, 3)).toEqual([])
  })
})
