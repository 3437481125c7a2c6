// Secrets are found by the marks in the schema.
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { redactConfig, secretPaths, secretValues } from '../../core/config/redaction.ts'
import { resolveText } from './document.ts'

const setting = () =>
  resolveText(`{
  gateway: { auth: { mode: 'token', token: 'gateway-token-secret-1234', password: 'gateway-password-secret-1' } },
  hooks: { token: 'hook-token-secret-12345678' },
  providers: { 'my.host': { kind: 'hosted', apiKey: 'api-key-secret', headers: { 'x-key': 'header-secret' } } },
  channels: { pager: { key: 'pager-secret', region: 'eu', accounts: { 'o\\'ps "1"': { key: 'pager-secret-of-ops' } } } },
}`)

describe('redaction', () => {
  it('hides every secret and nothing else', () => {
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

  it('gives pino the path of each, at whatever depth', () => {
    const { config, schema } = setting()
    const lines: string[] = []
    const log = pino({ redact: secretPaths(config, schema, 'config') }, { write: (line: string) => void lines.push(line) })
    log.info({ config }, 'a line')
    expect(lines.join('')).toContain('"region":"eu"')
    expect(lines.join('')).not.toContain('secret')
    expect(secretPaths(config, schema)).toContain('providers["my.host"].headers["x-key"]')
    expect(secretPaths(config, schema)).toContain('channels.pager.accounts')
  })

  it('lists the values, longer ones first, so that none hides a part of another', () => {
    const { config, schema } = setting()
    const values = secretValues(config, schema)
    expect(values).toHaveLength(7)
    expect(values.indexOf('pager-secret-of-ops')).toBeLessThan(values.indexOf('pager-secret'))
  })
})
