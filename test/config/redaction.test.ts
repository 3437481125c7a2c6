// Redacting the secrets that the schema marks.
import { describe, expect, it } from 'vitest'
import { createRedactor, logSecrets, redactConfig, secretValues } from '../../core/config/redaction.ts'
import { resolveText } from './document.ts'

const setting = () =>
  resolveText(`{
  gateway: { auth: { mode: 'token', token: 'gateway-token-secret-1234', password: 'gateway-password-secret-1' } },
  hooks: { token: 'hook-token-secret-12345678' },
  providers: { 'my.host': { kind: 'hosted', apiKey: 'api-key-secret', headers: { 'x-key': 'header-secret' } } },
  channels: { pager: { key: 'pager-secret', region: 'eu',
    accounts: { 'o\\'ps "1"': { key: 'pager-secret-of-ops' } } } },
}`)

describe('redaction', () => {
  it('redacts secrets and nothing else', () => {
    const { config, schema } = setting()
    const shown = redactConfig(config, schema)
    expect(JSON.stringify(shown)).not.toContain('secret')
    expect(shown).toMatchObject({
      gateway: { port: 18_789, auth: { mode: 'token', token: '[redacted]', password: '[redacted]' } },
      providers: { 'my.host': { kind: 'hosted', apiKey: '[redacted]', headers: { 'x-key': '[redacted]' } } },
      channels: { pager: { enabled: true, region: 'eu', accounts: { 'o\'ps "1"': { key: '[redacted]' } } } },
    })
    expect(config.hooks.token).toBe('hook-token-secret-12345678')
  })

  it('lists the values, longest first', () => {
    const { config, schema } = setting()
    const values = secretValues(config, schema)
    expect(values).toHaveLength(7)
    expect(values.indexOf('pager-secret-of-ops')).toBeLessThan(values.indexOf('pager-secret'))
  })

  it('leaves out values that are too short', () => {
    const { config, schema } = resolveText(
      `{ providers: { p: { kind: 'hosted', apiKey: 'sixsix', headers: { debug: '1', verbose: 'true', level: ' ` +
        `debug ' } } } }`,
    )
    expect(secretValues(config, schema)).toEqual(['sixsix'])
  })

  it(
    'names the credentials of the environment, whatever the mode, and those of the configuration without white ' +
      'space around them',
    () => {
      const env = { SVC_GATEWAY_TOKEN: ' token-of-env ', SVC_GATEWAY_PASSWORD: 'password-of-env' }
      expect(logSecrets(resolveText(`{ gateway: { auth: { token: '  token-of-file  ' } } }`), env).toSorted()).toEqual([
        'password-of-env',
        'token-of-env',
        'token-of-file',
      ])
    },
  )
})

describe('a redactor', () => {
  it('redacts strings of JSON, but not keys, numbers and syntax', () => {
    const { json } = createRedactor(['quote"\nquote', '1234567', '":{"deep"'])
    const line = { 1234567: 1234567, text: 'a quote"\nquote b 1234567', object: { deep: null } }
    expect(JSON.parse(json(JSON.stringify(line)))).toEqual({
      1234567: 1234567,
      text: 'a [redacted] b [redacted]',
      object: { deep: null },
    })
  })

  it('keeps redacting secrets of earlier configurations', () => {
    const { hide, text } = createRedactor(['first-secret'])
    hide(['second-secret', 'first-secret-is-longer'])
    expect(text('first-secret second-secret first-secret-is-longer')).toBe('[redacted] [redacted] [redacted]')
  })

  it('drops the oldest values above the limit', () => {
    const { hide, text } = createRedactor(['secret-number-one'])
    for (let number = 0; number < 1_000; number++) hide([`secret-${number}-more`])
    expect(text('secret-number-one secret-0-more')).toBe('secret-number-one [redacted]')
  })
})
