// Values from environment variables and secret files.
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfigFile } from '../../../core/config/file/read.ts'
import { resolveConfig } from '../../../core/config/resolve.ts'
import { resolveEnvironment } from '../../../core/config/file/secrets.ts'
import { extensions, problemsOf, resolveText, write } from '../document.ts'

describe('${ENV}', () => {
  const expand = (text: string, env: NodeJS.ProcessEnv) => resolveEnvironment({ key: text }, env)

  it.each([
    ['${A}', { A: 'x' }, 'x'],
    ['<${A}${B}>', { A: 'x', B: 'y' }, '<xy>'],
    ['${A:-other}', {}, 'other'],
    ['${A:-other}', { A: '' }, 'other'],
    ['${A:-other}', { A: 'x' }, 'x'],
    ['${A:-}', {}, ''],
    ['${A}', { A: '' }, ''],
    ['${A}', { A: '${B}', B: 'no' }, '${B}'],
    ['$${A}', { A: 'x' }, '${A}'],
    ['$A $ {A} {{ a }} $5', { A: 'x' }, '$A $ {A} {{ a }} $5'],
    ['${A}', { A: '$& $1' }, '$& $1'],
  ])('%j with %j is %j', (text, env, expected) => {
    expect(expand(text, env)).toEqual({ value: { key: expected }, problems: [] })
  })

  it.each(['${', '${}', '${A', '${1A}', '${A-b}', '${ A }'])('rejects %j', (text) => {
    expect(expand(text, { A: 'x' }).problems).toEqual([
      { keys: ['key'], problem: expect.stringContaining('write "$${" for the text "${"') },
    ])
  })

  it('is resolved in all strings, but not in keys', () => {
    const { config } = resolveText(
      "{ gateway: { trustedProxies: ['${PROXY}'] }, agents: { a: { name: '${NAME:-Bob}' } } }",
      { PROXY: '::1' },
    )
    expect([config.gateway.trustedProxies, config.agents['a']?.name]).toEqual([['::1'], 'Bob'])
    expect(problemsOf("{ '${A}': 1 }", { A: 'log' })).toEqual([expect.stringContaining('${A} is not a known key')])
  })

  it('is resolved in plugins, which are loaded before the check', () => {
    expect(readConfigFile(write("{ plugins: ['${HOME}/pager', 5] }"), { HOME: '/home/me' }).plugins).toEqual([
      '/home/me/pager',
    ])
  })

  it('reports every missing variable', () => {
    expect(problemsOf("{ hooks: { token: '${ONE}' },\n gateway: { auth: { token: 'x${TWO}' } } }")).toEqual([
      'line 1: hooks.token needs the environment variable ONE, which is not set; set it, or write ${ONE:-default}',
      'line 2: gateway.auth.token needs the environment variable TWO, which is not set; set it, or write ' +
        '${TWO:-default}',
    ])
  })
})

describe('{ file }', () => {
  it('is read for secrets, relative to the configuration, without the line break', () => {
    const file = write(
      "{ hooks: { token: { file: 'hook.token' } }, channels: { pager: { accounts: { a: { key: { file: " +
        "'${DIR}/pager' } } } } } }",
    )
    writeFileSync(join(dirname(file), 'hook.token'), 'token of the hooks, from a file\r\n')
    writeFileSync(join(dirname(file), 'pager'), 'two\nlines\n\n')
    const { config } = resolveConfig(readConfigFile(file, { DIR: dirname(file) }), extensions)
    expect(config.hooks.token).toBe('token of the hooks, from a file')
    expect(config.channels['pager']?.accounts?.['a']?.['key']).toBe('two\nlines\n')
  })

  it('is rejected for other keys, or with more keys', () => {
    expect(problemsOf("{ hooks: { defaultSessionKey: { file: 'x' }, token: { file: 'x', mode: 1 } } }")).toEqual([
      'line 1: hooks.token must be a string or { file }',
      'line 1: hooks.defaultSessionKey must be a string',
    ])
  })

  it('reports the missing file', () => {
    expect(problemsOf("{ hooks: { enabled: true, token: { file: 'nowhere' } } }")).toEqual([
      expect.stringMatching(/^line 1: hooks\.token refers to a file that cannot be read \(ENOENT\): .*\/nowhere$/),
    ])
  })
})
