// The first configuration.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfigFile } from '../../../core/config/file/read.ts'
import { writeFirstConfig } from '../../../core/config/file/first-run.ts'
import { resolveConfig } from '../../../core/config/resolve.ts'
import { loadExtensions } from '../../../core/loader/registry.ts'
import { temporaryFolder } from '../document.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }

async function load(file: string) {
  const document = readConfigFile(file, {})
  return resolveConfig(document, await loadExtensions({ plugins: document.plugins, dir: document.dir, log }))
}

describe('writeFirstConfig', () => {
  it('writes hooks, two tokens, the built-in model and the console', async () => {
    const file = join(temporaryFolder(), 'new', 'gateway.json5')
    const { gatewayToken, hookToken } = writeFirstConfig(file)
    const { config, warnings } = await load(file)
    expect(warnings).toEqual([])
    expect(config).toMatchObject({
      gateway: { bind: '127.0.0.1', port: 18_789, auth: { token: gatewayToken } },
      hooks: { enabled: true, path: '/hooks', token: hookToken },
      agents: { defaults: { model: 'builtin/rules', heartbeat: { target: 'last' } } },
      session: { fallbackChannel: 'console' },
      channels: { console: { enabled: true, allowFrom: ['console'], defaultTo: 'console' } },
    })
    expect(new Set([gatewayToken, hookToken, writeFirstConfig(file, { force: true }).hookToken]).size).toBe(3)
    expect(hookToken).toMatch(/^[\w-]{43}$/)
  })

  it('creates a private file in a private folder and leaves no other file', () => {
    const folder = join(temporaryFolder(), 'new')
    writeFirstConfig(join(folder, 'gateway.json5'))
    expect([folder, join(folder, 'gateway.json5')].map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual([
      '700',
      '600',
    ])
    expect(readdirSync(folder)).toEqual(['gateway.json5'])
  })

  it('replaces an existing file only with force', () => {
    const folder = temporaryFolder()
    const file = join(folder, 'gateway.json5')
    writeFileSync(file, '// mine')
    expect(() => writeFirstConfig(file)).toThrow('already exists; use --force to replace it')
    expect(readFileSync(file, 'utf8')).toBe('// mine')
    expect(readdirSync(folder)).toEqual(['gateway.json5'])
    writeFirstConfig(file, { force: true })
    expect(readFileSync(file, 'utf8')).toContain("model: 'builtin/rules'")
  })

  it('reports why it cannot write', () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'file'), '')
    expect(() => writeFirstConfig(join(folder, 'file', 'gateway.json5'))).toThrow(
      /cannot be written \((?:ENOTDIR|EEXIST)\)/,
    )
    mkdirSync(join(folder, 'gateway.json5'))
    expect(() => writeFirstConfig(join(folder, 'gateway.json5'), { force: true })).toThrow('cannot be written (EISDIR)')
    expect(existsSync(join(folder, 'gateway.json5'))).toBe(true)
  })

  it('adds model servers as comments that are valid when uncommented', async () => {
    const file = join(temporaryFolder(), 'gateway.json5')
    const baseUrl = 'http://127.0.0.1:11434/v1'
    const server = { kind: 'openai-compatible', name: 'ollama', title: 'Ollama', baseUrl, models: ['llama3.2:3b'] }
    writeFirstConfig(file, { localServers: [server, { ...server, name: 'vllm', models: [] }] })
    expect((await load(file)).config.providers).toEqual({})
    const text = readFileSync(file, 'utf8')
    const [section = ''] = /^ {2}\/\/ providers: \{\n[^]*?^ {2}\/\/ \},$/m.exec(text) ?? []
    writeFileSync(
      file,
      text.replace(section, section.replaceAll(/^ {2}\/\/ /gm, '')).replace('builtin/rules', 'ollama/llama3.2:3b'),
    )
    const { config } = await load(file)
    expect(config.providers).toMatchObject({ ollama: { kind: 'openai-compatible', baseUrl }, vllm: {} })
    expect(section).toContain('ollama/llama3.2:3b')
  })
})
