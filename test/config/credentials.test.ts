// The precedence of the gateway credentials.
import { describe, expect, it } from 'vitest'
import { resolveCredential } from '../../core/config/credentials.ts'

describe('resolveCredential', () => {
  it.each([
    { takes: 'a token', auth: { token: 'T' }, env: {}, credential: { mode: 'token', value: 'T' } },
    {
      takes: 'a password when there is only that',
      auth: { password: 'P' },
      env: {},
      credential: { mode: 'password', value: 'P' },
    },
    {
      takes: 'the token when there are both',
      auth: { token: 'T', password: 'P' },
      env: {},
      credential: { mode: 'token', value: 'T' },
    },
    {
      takes: 'the password when the mode says so',
      auth: { mode: 'password', token: 'T', password: 'P' },
      env: {},
      credential: { mode: 'password', value: 'P' },
    },
    {
      takes: 'the file before the environment',
      auth: { token: 'T' },
      env: { SVC_GATEWAY_TOKEN: 'E' },
      credential: { mode: 'token', value: 'T' },
    },
    {
      takes: 'the token of the environment',
      auth: {},
      env: { SVC_GATEWAY_TOKEN: ' E\n' },
      credential: { mode: 'token', value: 'E' },
    },
    {
      takes: 'the password of the environment when there is only that',
      auth: {},
      env: { SVC_GATEWAY_PASSWORD: 'E' },
      credential: { mode: 'password', value: 'E' },
    },
    {
      takes: 'nothing when the mode has none',
      auth: { mode: 'token', password: 'P' },
      env: {},
      credential: { mode: 'token' },
    },
    {
      takes: 'nothing for white space',
      auth: { token: ' ' },
      env: { SVC_GATEWAY_TOKEN: '\t' },
      credential: { mode: 'token' },
    },
    { takes: 'nothing for nothing', auth: {}, env: {}, credential: { mode: 'token' } },
  ] as const)('takes $takes', ({ auth, env, credential }) => {
    expect(resolveCredential(auth, env)).toEqual(credential)
  })
})
