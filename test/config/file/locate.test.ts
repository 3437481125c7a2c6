// Locating the configuration file.
import { chmodSync, lchownSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { firstConfigFile, locateConfig } from '../../../core/config/file/locate.ts'
import { currentUser, type User } from '../../../core/config/file/trust.ts'
import { temporaryFolder } from '../document.ts'

function setting(...files: string[]) {
  const dir = temporaryFolder()
  for (const folder of ['work', 'home/.svc-gateway']) mkdirSync(join(dir, folder), { recursive: true })
  for (const file of files) writeFileSync(join(dir, file), '{}')
  return { dir, surroundings: { env: {}, cwd: join(dir, 'work'), home: join(dir, 'home') } }
}

/** Only root can give a file away. For others, it belongs to another user than the one that is returned. */
function giveAway(path: string): User {
  const { uid, gid } = currentUser() as User
  if (uid !== 0) return { uid: uid + 1, gid: gid + 1 }
  lchownSync(path, 54_321, 54_321)
  return { uid, gid }
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

  it.each([
    ['the file', 'work/gateway.json5'],
    ['its folder', 'work'],
    ['the target of a link', 'elsewhere.json5'],
    ['a link', 'link'],
    ['the file in the home', 'home/.svc-gateway/gateway.json5'],
  ])('rejects a file that nobody has named if another user owns it: %s', (_what, owned) => {
    const { dir, surroundings } = setting(owned.startsWith('home') ? owned : 'work/gateway.json5')
    const file = join(surroundings.cwd, 'gateway.json5')
    if (owned === 'elsewhere.json5' || owned === 'link') {
      rmSync(file)
      writeFileSync(join(dir, 'elsewhere.json5'), '{}')
      symlinkSync(join(dir, 'elsewhere.json5'), file)
    }
    const user = giveAway(owned === 'link' ? file : join(dir, owned))
    const refusal = /belongs to another user \(\d+\); give it with --config if you trust that user/
    expect(() => locateConfig({ ...surroundings, user })).toThrow(refusal)
    const given = owned.startsWith('home') ? join(dir, owned) : file
    expect(locateConfig({ ...surroundings, option: given })).toBe(given)
    expect(locateConfig({ ...surroundings, env: { SVC_GATEWAY_CONFIG: given } })).toBe(given)
  })

  it('rejects a file that nobody has named if others can change it', () => {
    const { surroundings } = setting('work/gateway.json5')
    const { cwd } = surroundings
    const file = join(cwd, 'gateway.json5')
    chmodSync(file, 0o664)
    expect(locateConfig(surroundings)).toBe(file)
    chmodSync(file, 0o602)
    const problem = `can be changed by every user of this machine; run "chmod o-w`
    expect(() => locateConfig(surroundings)).toThrow(`The configuration ${file} ${problem} ${file}", or give`)
    chmodSync(file, 0o600)
    chmodSync(cwd, 0o1777)
    expect(() => locateConfig(surroundings)).toThrow(`The configuration ${file} depends on ${cwd}, which ${problem}`)
    expect(locateConfig({ ...surroundings, option: file })).toBe(file)
  })

  it('rejects a file that a group of other users can change', () => {
    const { surroundings } = setting('work/gateway.json5')
    const file = join(surroundings.cwd, 'gateway.json5')
    const { gid } = giveAway(file)
    chmodSync(file, 0o660)
    const user = { uid: statSync(file).uid, gid }
    expect(() => locateConfig({ ...surroundings, user })).toThrow(/can be changed by the group \d+; run "chmod g-w /)
    chmodSync(file, 0o640)
    expect(locateConfig({ ...surroundings, user })).toBe(file)
  })
})

describe('firstConfigFile', () => {
  it('is in the working directory of a checkout', () => {
    expect(firstConfigFile({ cwd: '/checkout', home: '/home/me' })).toBe('/checkout/gateway.json5')
  })
})
