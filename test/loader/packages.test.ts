// The npm packages of channels: where they are found, and what is said if they are missing.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createPackages } from '../../core/loader/packages.ts'
import { loadExtensions } from '../../core/loader/registry.ts'
import type { Channel } from '../../core/plugin/plugin.ts'
import { createTestContext } from '../contracts.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'packages-'))
})
afterEach(() => rm(root, { recursive: true }))

async function install(folder: string, name: string, version = '1.2.3'): Promise<void> {
  const target = join(root, folder, 'node_modules', name)
  await mkdir(target, { recursive: true })
  const manifest = { name, version, type: 'module', exports: { import: './index.js' } }
  await writeFile(join(target, 'package.json'), JSON.stringify(manifest))
  await writeFile(join(target, 'index.js'), `export const from = '${folder}'`)
}

/** A module of the gateway in one folder, and the configuration directory beside it. */
async function createModule(packages: Channel['packages'] = (settings) => settings as Record<string, string>) {
  await mkdir(join(root, 'config'), { recursive: true })
  const file = join(root, 'gateway', 'channels', 'pager.mjs')
  await mkdir(join(file, '..'), { recursive: true })
  await writeFile(file, 'export const load = (name) => import(name)')
  const found = createPackages(join(root, 'config'))
  onTestFinished(() => found.close())
  const find = (settings: Record<string, string>) => found.find({ packages }, { settings, file })
  const { load } = (await import(pathToFileURL(file).href)) as { load: (name: string) => Promise<{ from: string }> }
  return { find, load, close: found.close }
}

describe('the packages of a channel', () => {
  it('that are missing are named with the command that installs them', async () => {
    const { find } = await createModule()
    expect(find({ 'x-grammy': '1.46.0' })).toEqual({
      missing: 'needs the package x-grammy; run: npm i x-grammy@1.46.0',
    })
    await install('gateway', '@x/core')
    expect(find({ '@x/core': '1.2.3', '@x/rest': '2.0.0', 'x-ws': '3.0.0' })).toEqual({
      missing: 'needs the packages @x/rest and x-ws; run: npm i @x/rest@2.0.0 x-ws@3.0.0',
    })
  })

  it('are found beside the module', async () => {
    const { find, load } = await createModule()
    await install('gateway', 'x-lib')
    await install('config', 'x-lib')
    expect(find({ 'x-lib': '1.2.3' })).toEqual({})
    expect((await load('x-lib')).from).toBe('gateway')
  })

  it('are found in the configuration directory, and imported from there', async () => {
    const { find, load, close } = await createModule()
    await install('config', '@x/lib')
    expect(find({ '@x/lib': '1.2.3' })).toEqual({})
    expect((await load('@x/lib')).from).toBe('config')
    await expect(load('x-other')).rejects.toThrow("Cannot find package 'x-other'")
    close()
  })

  it('of another version are named with both versions', async () => {
    const { find } = await createModule()
    await install('gateway', 'x-lib', '2.0.0')
    expect(find({ 'x-lib': '1.2.3' })).toEqual({
      untested: 'was not tested with the installed x-lib 2.0.0 instead of 1.2.3',
    })
  })

  it('depend on the settings of the account', async () => {
    const { find } = await createModule((settings) => {
      const { transport } = settings as { transport: string }
      return { 'x-lib': transport === 'own' ? '1.0.0' : undefined }
    })
    expect(find({ transport: 'own' }).missing).toBe('needs the package x-lib; run: npm i x-lib@1.0.0')
    expect(find({ transport: 'hosted' })).toEqual({})
  })

  it.each<[string, () => never, string]>([
    ['throws', () => assert.fail('no idea'), 'cannot say which packages it needs (AssertionError: no idea)'],
    [
      'returns something else',
      () => ['x-lib', 1] as never,
      'cannot say which packages it needs (TypeError: packages must return a version for each package)',
    ],
  ])('of a plugin that %s are reported, and nothing is connected', async (_fault, packages, missing) => {
    const { find } = await createModule(packages)
    expect(find({})).toEqual({ missing })
  })

  it('of a plugin are found beside the plugin', async () => {
    await install('plugin', 'x-lib')
    await mkdir(join(root, 'config'))
    await writeFile(
      join(root, 'plugin', 'pager.mjs'),
      `import { defineChannel, Type } from 'svc-gateway/plugin'
       export default defineChannel({
         name: 'pager', description: 'Pages.', config: Type.Object({}), target: Type.String(),
         limits: { maxText: 100, idempotency: 'none' }, connect: async () => ({}),
         packages: () => ({ 'x-lib': '1.2.3' }),
       })`,
    )
    const { log } = createTestContext()
    const extensions = await loadExtensions({ plugins: ['../plugin/pager.mjs'], dir: join(root, 'config'), log })
    onTestFinished(() => extensions.close())
    expect(extensions.problems).toEqual([])
    expect(extensions.findPackages(extensions.channels.get('pager')!, {})).toEqual({})
  })
})
