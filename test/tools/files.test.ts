// The file tools: what they read and write, and that no path leads out of the workspace.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createWorkspace } from '../../core/tools/workspace.ts'
import { temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { refused, startTools, type ToolGateway } from './calls.ts'

async function start(): Promise<ToolGateway & { workspace: string; outside: string }> {
  const dir = temporaryFolder()
  const workspace = join(dir, 'files')
  const outside = join(dir, 'outside')
  mkdirSync(workspace)
  mkdirSync(outside)
  writeFileSync(join(outside, 'secret.txt'), 'canary')
  const gateway = await startTools({ agents: { defaults: { workspace: 'files', heartbeat: { every: 0 } } } }, dir)
  return { ...gateway, workspace, outside }
}

const shared = share(start)

describe('files of the workspace', () => {
  it('are written, read, edited and listed', async () => {
    const { result, workspace } = await start()
    expect(await result('write', { path: 'notes/today.md', text: 'one\ntwo\nthree\n' })).toEqual({
      path: 'notes/today.md',
      bytes: 14,
    })
    expect(await result('read', { path: 'notes/today.md' })).toEqual({
      path: 'notes/today.md',
      bytes: 14,
      lines: 4,
      text: 'one\ntwo\nthree\n',
    })
    expect(await result('read', { path: './notes//today.md', fromLine: 2, lines: 1 })).toMatchObject({ text: 'two' })
    expect(await result('edit', { path: 'notes/today.md', old: 'two', new: '$& zwei' })).toEqual({
      path: 'notes/today.md',
      replaced: 1,
    })
    expect(readFileSync(join(workspace, 'notes/today.md'), 'utf8')).toBe('one\n$& zwei\nthree\n')
    await result('write', { path: 'a.txt', text: '' })
    expect(await result('list')).toEqual({
      items: [
        { path: 'a.txt', kind: 'file' },
        { path: 'notes', kind: 'folder' },
      ],
    })
    expect((await result('list', { depth: 3 })).items).toContainEqual({ path: 'notes/today.md', kind: 'file' })
    expect(readdirSync(workspace).toSorted()).toEqual(['a.txt', 'notes'])
  })

  it('are available to an agent in its turn', async () => {
    const { askAgent, workspace } = await start()
    expect(await askAgent('/write {"path":"agent.txt","text":"hello"}')).toContain('returned')
    expect(readFileSync(join(workspace, 'agent.txt'), 'utf8')).toBe('hello')
    expect(await askAgent('/read {"path":"agent.txt"}')).toContain('"text":"hello"')
  })

  it('can be read but not written in a webhook run', async () => {
    const { hook, workspace } = shared()
    const file = join(workspace, 'hook.txt')
    writeFileSync(file, 'hello')
    expect((await hook('/read {"path":"hook.txt"}')).body.reply).toContain('hello')
    await hook('/write {"path":"new.txt","text":"hello"}')
    await hook('/edit {"path":"hook.txt","old":"hello","new":"bye"}')
    expect([existsSync(join(workspace, 'new.txt')), readFileSync(file, 'utf8')]).toEqual([false, 'hello'])
  })

  it('keep their permissions and remain behind a link', async () => {
    const { result, workspace } = shared()
    writeFileSync(join(workspace, 'run.sh'), 'echo 1')
    chmodSync(join(workspace, 'run.sh'), 0o755)
    symlinkSync('run.sh', join(workspace, 'link.sh'))
    await result('write', { path: 'link.sh', text: 'echo 2' })
    expect(statSync(join(workspace, 'run.sh')).mode & 0o777).toBe(0o755)
    expect([readFileSync(join(workspace, 'run.sh'), 'utf8'), readFileSync(join(workspace, 'link.sh'), 'utf8')]).toEqual(
      ['echo 2', 'echo 2'],
    )
  })

  it('are edited one after another when edits come at the same time', async () => {
    const { result } = shared()
    const [path, letters] = ['letters', [...'abcdefghij']]
    await result('write', { path, text: letters.join('\n') })
    await Promise.all(letters.map((letter) => result('edit', { path, old: letter, new: letter.toUpperCase() })))
    expect((await result('read', { path })).text).toBe(letters.join('\n').toUpperCase())
  })

  it.each([
    [{ old: 'x', new: 'y' }, 'old does not occur in the file; read it again.'],
    [{ old: 'a', new: 'y' }, 'old occurs 3 times in the file; make it longer, or set all.'],
  ])('are not edited if the text is missing or ambiguous: %o', async (edit, sentence) => {
    const { call, result } = shared()
    await result('write', { path: 'x', text: 'a a a' })
    expect(await call('edit', { path: 'x', ...edit })).toMatchObject(refused(sentence))
    expect(await result('edit', { path: 'x', old: 'a', new: 'b', all: true })).toEqual({ path: 'x', replaced: 3 })
  })
})

describe('a path that is not a text file', () => {
  it('is reported as such', async () => {
    const { result, workspace } = shared()
    writeFileSync(join(workspace, 'zero.bin'), Buffer.from([1, 0, 2]))
    writeFileSync(join(workspace, 'latin.txt'), Buffer.from([0xe4, 0xf6]))
    for (const path of ['zero.bin', 'latin.txt'])
      expect(await result('read', { path })).toMatchObject({ path, binary: true })
  })

  it('does not block: a pipe, a system socket, a folder', async () => {
    const { call, workspace } = await start()
    execFileSync('mkfifo', [join(workspace, 'pipe')])
    mkdirSync(join(workspace, 'folder'))
    expect(await call('read', { path: 'pipe' })).toMatchObject(refused('path is not a regular file.'))
    expect(await call('read', { path: 'folder' })).toMatchObject(refused('path is a folder; list it instead.'))
    expect(await call('write', { path: 'folder', text: 'x' })).toMatchObject(refused('path "folder" is a folder.'))
    expect(await call('list', { path: 'pipe' })).toMatchObject(
      refused('path "pipe" leads through something that is not a folder.'),
    )
    expect(readdirSync(workspace).toSorted()).toEqual(['folder', 'pipe'])
  })

  it('is read in part if it is huge', async () => {
    const { result, call, workspace } = shared()
    writeFileSync(join(workspace, 'huge.txt'), 'ä'.repeat(100_000))
    expect(await result('read', { path: 'huge.txt' })).toMatchObject({
      bytes: 200_000,
      text: 'ä'.repeat(50_000),
      cut: true,
    })
    writeFileSync(join(workspace, 'vast'), '')
    truncateSync(join(workspace, 'vast'), 2 ** 36)
    expect(await result('read', { path: 'vast' })).toEqual({ path: 'vast', bytes: 2 ** 36, binary: true })
    expect(await call('edit', { path: 'vast', old: 'a', new: 'b' })).toMatchObject(
      refused('path is not a text file that can be edited.'),
    )
  })
})

describe('a path outside the workspace', () => {
  it.each([
    '../outside/secret.txt',
    '/etc/passwd',
    'a/../../outside/secret.txt',
    '~/x',
    'C:\\x',
    'file:///etc/passwd',
    'x\0y',
    '..',
  ])('cannot be reached by the path %j', async (path) => {
    const { call } = shared()
    for (const [tool, args] of Object.entries({
      read: { path },
      write: { path, text: 'x' },
      edit: { path, old: 'a', new: 'b' },
      list: { path },
    })) {
      const { status, body } = await call(tool, args)
      expect([status, JSON.stringify(body)]).toEqual([400, expect.not.stringContaining('canary')])
    }
  })

  it('cannot be reached by a link to a file, a folder, nothing, or itself', async () => {
    const { call, workspace, outside } = shared()
    symlinkSync(join(outside, 'secret.txt'), join(workspace, 'file'))
    symlinkSync(outside, join(workspace, 'folder'))
    symlinkSync(join(outside, 'new.txt'), join(workspace, 'dangling'))
    symlinkSync('circle', join(workspace, 'circle'))
    const paths = ['file', 'folder/secret.txt', 'circle', 'circle/x']
    for (const path of paths) expect([path, (await call('read', { path })).status]).toEqual([path, 400])
    for (const path of ['file', 'folder/secret.txt', 'folder/new.txt', 'folder/a/b.txt'])
      expect([path, (await call('write', { path, text: 'x' })).status]).toEqual([path, 400])
    expect((await call('list', { path: 'folder' })).status).toBe(400)
    // A link to nothing is replaced by a file of the workspace.
    await call('write', { path: 'dangling', text: 'x' })
    expect(readdirSync(outside)).toEqual(['secret.txt'])
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('canary')
  })

  it('cannot be reached while a link in the path is replaced again and again', async () => {
    const [root, outside] = [join(temporaryFolder(), 'root'), temporaryFolder()]
    const [door, spare] = [join(root, 'door'), join(root, 'spare')]
    mkdirSync(door, { recursive: true })
    writeFileSync(join(door, 'x.txt'), 'inside')
    writeFileSync(join(outside, 'x.txt'), 'canary')
    const workspace = createWorkspace(root)
    let over = false
    // A write may make the folder anew at the moment when it is away.
    const putAtDoor = (put: () => void): void => {
      try {
        put()
      } catch {
        rmSync(door, { recursive: true, force: true })
        putAtDoor(put)
      }
    }
    const swap = async () => {
      while (!over) {
        renameSync(door, spare)
        putAtDoor(() => symlinkSync(outside, door))
        await new Promise(setImmediate)
        rmSync(door)
        putAtDoor(() => renameSync(spare, door))
        await new Promise(setImmediate)
      }
    }
    const swapping = swap()
    const seen = new Set<string>()
    const known = ['inside', 'refused']
    for (let round = 0; round < 400 || (round < 20_000 && !known.every((one) => seen.has(one))); round++) {
      const { data } = await workspace
        .read('door/x.txt', { maxBytes: 100 })
        .catch(() => ({ data: Buffer.from('refused') }))
      seen.add(Buffer.from(data).toString())
      await workspace.write('door/y.txt', 'mine').catch(() => undefined)
    }
    over = true
    await swapping
    expect([...seen].toSorted()).toEqual(known)
    expect(readdirSync(outside)).toEqual(['x.txt'])
  })
})
