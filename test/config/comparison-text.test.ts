// Tests when the configurations of two gateways count as the same.
import { expect, it } from 'vitest'
import { toComparisonText } from '../../core/config/comparison-text.ts'
import { extensions, resolveText } from './document.ts'

const describeText = (text: string, env: NodeJS.ProcessEnv = {}): string =>
  toComparisonText(resolveText(text, env).config, { extensions, env })

const token = 'a-token-of-the-gateway-0123'

it.each<[string, string, string, NodeJS.ProcessEnv?]>([
  [
    'the order of keys',
    '{ log: {}, hooks: { maxBodyBytes: 9, maxQueuedRuns: 7 } }',
    '{ hooks: { maxQueuedRuns: 7, maxBodyBytes: 9 } }',
  ],
  ['a default that is written', '{}', '{ session: { historyTurns: 20 } }'],
  ['the address', '{}', "{ gateway: { port: 9, bind: '::1' } }"],
  ['the log', '{}', "{ log: { level: 'debug', pretty: true } }"],
  ['the way to the store', '{}', "{ storage: { url: 'postgres://user:password@host/database' } }"],
  ['a workspace', '{}', "{ agents: { defaults: { workspace: '/srv/files' } } }"],
  ['the folder of a plugin', "{ plugins: ['./one.mjs'] }", "{ plugins: ['/srv/plugins/one.mjs'] }"],
  ['the place of the credential', '{}', `{ gateway: { auth: { token: '${token}' } } }`, { SVC_GATEWAY_TOKEN: token }],
])('configurations that differ only in %s count as the same', (...[, one, other, env]) => {
  expect(describeText(one, env)).toBe(describeText(other))
})

it.each([
  ['a number', '{}', '{ session: { historyTurns: 19 } }'],
  ['a secret', "{ channels: { pager: { key: 'key one' } } }", "{ channels: { pager: { key: 'key two' } } }"],
  ['the credential', '{}', `{ gateway: { auth: { token: '${token}' } } }`],
  ['the retention', '{}', '{ storage: { retention: { days: 9 } } }'],
  ['the order of a list', "{ plugins: ['a', 'b'] }", "{ plugins: ['b', 'a'] }"],
])('configurations that differ in %s do not', (_name, one, other) => {
  expect(describeText(one)).not.toBe(describeText(other))
})
