// Helpers for configuration tests: resolve a text with test extensions, and return its errors or warnings.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ConfigError } from '../../core/config/config-error.ts'
import { readConfigFile } from '../../core/config/file/read.ts'
import { type ResolvedConfig, resolveConfig } from '../../core/config/resolve.ts'
import type { ConfigurableExtensions } from '../../core/config/schema/schema.ts'
import { defineChannel, defineProvider, defineToolset, Type } from '../../core/plugin/plugin.ts'
import { schemes } from '../hooks/schemes.ts'

const pager = defineChannel({
  name: 'pager',
  aliases: ['beeper', 'bleeper'],
  description: 'Pages people.',
  config: Type.Object({
    key: Type.String({ secret: true, minLength: 4, description: 'The key of the service.' }),
    retries: Type.Integer({ default: 3, description: 'How often to try.' }),
    region: Type.Optional(Type.String({ description: 'Where the service is.' })),
  }),
  target: Type.String({ description: 'A number.' }),
  sender: Type.String({ pattern: String.raw`^\w+$`, description: 'a number' }),
  group: Type.String({ pattern: '^[a-z]+$', description: 'the name of a group' }),
  normalizeId: (id) => id.replace(/^no\. ?/, ''),
  limits: { maxText: 100, idempotency: 'none' },
  connect: () => Promise.reject(new Error('not connected in these tests')),
})

const weather = defineToolset({
  name: 'weather',
  description: 'Weather.',
  config: Type.Object({ unit: Type.Enum(['c', 'f'], { default: 'c' }) }),
  tools: [],
})

const hosted = defineProvider({
  name: 'hosted',
  description: 'A hosted service.',
  config: Type.Object({
    apiKey: Type.String({ secret: true }),
    headers: Type.Optional(Type.Record(Type.String(), Type.String(), { secret: true })),
  }),
  models: () => Promise.reject(new Error('not asked in these tests')),
})

export const extensions: ConfigurableExtensions = {
  channels: new Map([['pager', pager]]),
  toolsets: new Map([['weather', weather]]),
  providers: new Map([['hosted', hosted]]),
  presets: new Map(),
  schemes,
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-gateway-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes a configuration into a new folder. */
export function write(text: string, mode = 0o600): string {
  const file = join(temporaryFolder(), 'gateway.json5')
  writeFileSync(file, text, { mode })
  return file
}

export const resolveText = (text: string, env: NodeJS.ProcessEnv = {}): ResolvedConfig =>
  resolveConfig(readConfigFile(write(text), env), extensions)

/** The error of an invalid configuration. */
export function errorOf(text: string, env: NodeJS.ProcessEnv = {}): ConfigError {
  try {
    resolveText(text, env)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('the configuration was accepted')
}

/** The problems of an invalid configuration, without the headline. */
export const problemsOf = (text: string, env: NodeJS.ProcessEnv = {}): string[] =>
  errorOf(text, env)
    .message.split('\n')
    .slice(1)
    .map((line) => line.trim())

/** The warnings of a valid configuration, as `path problem`. */
export const warningsOf = (text: string, env: NodeJS.ProcessEnv = {}): string[] =>
  resolveText(text, env).warnings.map(({ path, problem }) => `${path} ${problem}`)
