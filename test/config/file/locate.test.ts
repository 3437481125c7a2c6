// Locating the configuration file.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { firstConfigFile, locateConfig } from '../../../core/config/file/locate.ts'
import { temporaryFolder } from '../document.ts'

function setting(...files: string[]) {
  const dir = temporaryFolder()
  for (const folder of ['work', 'home/.svc-gateway']) mkdirSync(join(dir, folder), { recursive: true })
  for (const file of files) writeFileSync(join(dir, file), '{}')
  return { dir, surroundings: { env: {}, cwd: join(dir, 'work'), home: join(dir, 'home') } }
}

const all = ['work/named.json5', 'work/variable.json5', 'work/gateway.json5', 'home/.svc-gateway/gateway.json5']

describe('locateConfig', () => {
  it('uses the option, then the variable, the working directory and the home', () => {
    const { dir, surroundings } = setting(...all)
    const env = { SVC_GATEWAY_CONFIG: join(dir, 'work/variable.json5') }
    expect(locateConfig({ ...surroundings, env, option: 'named.json5' })).toBe(join(dir, 'work/named.json5'))
    expect(locateConfig({ ...surroundings, env })).toBe(join(dir, 'work/variable.json5'))
    expect(locateConfig({ ...surroundings, env: { SVC_GATEWAY_CONFIG: ' ' } })).toBe(join(dir, 'work/gateway.json5'))
    const homeOnly = setting('home/.svc-gateway/gateway.json5')
    expect(locateConfig(homeOnly.surroundings)).toBe(join(homeOnly.dir, 'home/.svc-gateway/gateway.json5'))
    expect(locateConfig(setting().surroundings)).toBeUndefined()
  })

  it('rejects a missing file even if a default file exists', () => {
    const { dir, surroundings } = setting('work/gateway.json5')
    const missing = join(dir, 'work/nowhere.json5')
    const command = `npm start -- setup --config ${missing}`
    const refusal = `The configuration ${missing} does not exist; run "${command}" to create it`
    expect(() => locateConfig({ ...surroundings, option: 'nowhere.json5' })).toThrow(refusal)
    expect(() => locateConfig({ ...surroundings, env: { SVC_GATEWAY_CONFIG: 'nowhere.json5' } })).toThrow(refusal)
  })
})

describe('firstConfigFile', () => {
  it('is in the working directory of a checkout', () => {
    expect(firstConfigFile({ cwd: '/checkout', home: '/home/me' })).toBe('/checkout/gateway.json5')
  })
})
