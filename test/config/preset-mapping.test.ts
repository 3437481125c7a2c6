// The types that the contract has for `mapping` and `auth` of a preset say what the schemas of the configuration accept.
import { describe, expect, it } from 'vitest'
import type { MappingConfig } from '../../core/config/schema/mappings.ts'
import { loadBuiltins } from '../../core/loader/registry.ts'
import type { HmacAuth, PresetAuth, PresetMapping, TokenAuth } from '../../core/plugin/plugin.ts'

// The compiler checks these tests.
type IsSame<One, Other> = [One, Other] extends [Other, One] ? true : false

/** What only the operator decides, and what a preset has apart from `mapping`. */
type ForOperators = 'id' | 'transform' | 'auth' | 'budget' | 'allowUnsafeExternalContent' | 'replyToSender'

describe('the mapping of a preset', () => {
  it('has the keys of an entry of hooks.mappings, without those that are for operators', () => {
    const hasSameKeys: IsSame<keyof PresetMapping, Exclude<keyof MappingConfig, ForOperators>> = true
    type Match = NonNullable<MappingConfig['match']>
    const hasSameMatch: IsSame<keyof NonNullable<PresetMapping['match']>, Exclude<keyof Match, 'path'>> = true
    const fits: PresetMapping extends Partial<Pick<MappingConfig, keyof PresetMapping>> ? true : false = true
    expect([hasSameKeys, hasSameMatch, fits]).toEqual([true, true, true])
  })
})

describe('the auth of a preset', () => {
  it('names the built-in schemes, and the settings of those that have some', async () => {
    const { schemes } = await loadBuiltins()
    const settingsOf = (name: string) =>
      Object.keys((schemes.get(name)?.config as { properties?: object } | undefined)?.properties ?? {}).toSorted()
    type Literal<Name> = Name extends string ? (string extends Name ? never : Name) : never
    const named: Record<Literal<PresetAuth['scheme']>, true> = {
      discord: true,
      gitea: true,
      github: true,
      gitlab: true,
      hmac: true,
      jira: true,
      linear: true,
      meta: true,
      netlify: true,
      pagerduty: true,
      sentry: true,
      shopify: true,
      slack: true,
      'standard-webhooks': true,
      stripe: true,
      svix: true,
      telegram: true,
      token: true,
      twilio: true,
      zoom: true,
    }
    // Its settings are those of one account, which only the operator knows.
    expect(Object.keys(named)).toEqual([...schemes.keys()].filter((name) => name !== 'google-oidc').toSorted())
    type Settings<Auth> = Record<Exclude<keyof Auth, 'scheme' | 'toleranceSeconds' | 'handshake'>, true>
    const hmac: Settings<HmacAuth> = {
      algorithm: true,
      encoding: true,
      header: true,
      prefix: true,
      secretEncoding: true,
      separator: true,
      signed: true,
      timestampHeader: true,
      timestampPrefix: true,
      timestampUnit: true,
    }
    const token: Settings<TokenAuth> = { header: true }
    expect([Object.keys(hmac), Object.keys(token)]).toEqual([settingsOf('hmac'), settingsOf('token')])
  })
})
