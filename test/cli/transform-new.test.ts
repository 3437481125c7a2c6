// Tests the command `transform new`: what it writes and prints works as it stands.
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import JSON5 from 'json5'
import { describe, expect, it } from 'vitest'
import { type Document, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'

const create = (dir: string, ...args: string[]) => runHere(dir, ['transform', 'new', ...args])

describe('svc-gateway transform new', () => {
  it('prints a test that passes and a mapping that works, or one JSON object', async () => {
    const dir = temporaryFolder()
    const written = await run(dir, ['transform', 'new', 'disk-alerts', '--hook', '/monitoring/disks/'])
    expect(written).toMatchObject({ code: 0, stderr: '' })
    const [, program = '', command = ''] = /^ {2}(.*)(transform test .+)$/m.exec(written.stdout) ?? []
    expect(await run(dir, command.split(' '))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"message": "The disk is 97% full (critical, db1)'),
    })

    const [, mapping = ''] = /^ {2}(\{ match: .+\}),$/m.exec(written.stdout) ?? []
    const { post } = await startGateway({ hooks: { mappings: [JSON5.parse<Document>(mapping)] } }, dir)
    const payload = readFileSync(join(dir, 'transforms', 'disk-alerts.payload.json'), 'utf8')
    expect(await post('/hooks/monitoring/disks', payload)).toMatchObject({
      status: 200,
      body: { sessionKey: 'agent:main:hook:disk-alerts:db1' },
    })
    const refused = await post('/hooks/monitoring/disks', { ...JSON.parse(payload), severity: 'huge' })
    expect(refused).toMatchObject({ status: 400, body: { error: { message: expect.stringContaining('severity') } } })

    const { stdout, ...ended } = await create(dir, 'orders', '--hook', 'shop/orders', '--json')
    expect(ended).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      files: ['orders.ts', 'orders.payload.json'].map((file) => join(dir, 'transforms', file)),
      test: program + command.replaceAll('disk-alerts', 'orders'),
      mapping: { match: { path: 'shop/orders' }, name: 'orders', transform: { module: 'orders.ts' } },
    })
  })

  it('writes into the transforms directory of the configuration', async () => {
    const dir = temporaryFolder()
    const file = writeConfig(dir, { hooks: { transformsDir: 'transforms/shop' } })
    const elsewhere = temporaryFolder()
    const written = await create(elsewhere, 'orders.ts', '--config', file)
    expect(written).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(join(dir, 'transforms', 'shop')).toSorted()).toEqual(['orders.payload.json', 'orders.ts'])
    const [, command = ''] = /(transform test .+)/.exec(written.stdout) ?? []
    expect(await runHere(elsewhere, command.split(' '))).toMatchObject({ code: 0 })
  })

  it.each([
    ['orders.ts', []],
    ['orders.payload.json', ['--json']],
  ])('overwrites nothing if %s exists, and says so on standard error: %j', async (name, options) => {
    const dir = temporaryFolder()
    mkdirSync(join(dir, 'transforms'))
    const file = join(dir, 'transforms', name)
    symlinkSync(join(dir, 'target'), file)
    expect(await create(dir, 'orders', ...options)).toEqual({
      code: 1,
      stdout: '',
      stderr: `${file} already exists; use another name, or remove the file.\n`,
    })
    expect(readdirSync(join(dir, 'transforms'))).toEqual([name])
    expect(existsSync(join(dir, 'target'))).toBe(false)
  })

  it('writes nothing through a link to another folder', async () => {
    const [dir, outside] = [temporaryFolder(), temporaryFolder()]
    writeConfig(dir, { hooks: { transformsDir: 'transforms/shop' } })
    mkdirSync(join(dir, 'transforms'))
    symlinkSync(outside, join(dir, 'transforms', 'shop'))
    const { code, stderr } = await create(dir, 'orders')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('outside') })
    expect(readdirSync(outside)).toEqual([])
  })

  it.each([
    [['../orders'], 'The transform cannot be called "../orders"; use letters, digits, dashes and underscores'],
    [['shop/orders'], 'The transform cannot be called "shop/orders"; '],
    [['.hidden'], 'The transform cannot be called ".hidden"; '],
    [['orders', '--hook', 'wake'], '--hook: a mapping cannot have the path "wake"; use another one'],
    [['orders', '--hook', 'a b'], '--hook: a mapping cannot have the path "a b"; use another one'],
  ])('refuses %j', async (args, message) => {
    const dir = temporaryFolder()
    const ended = await create(dir, ...args)
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^${RegExp.escape(message)}.*\\n$`))
    expect(existsSync(join(dir, 'transforms'))).toBe(false)
  })
})
