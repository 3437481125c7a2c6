// Tests `start --watch`: the gateway restarts with the changed files of its plugins, and keeps those that work.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ask, gatewayToken, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'

const plugin = (result: string) => `import { defineTool, defineToolset, Type } from 'svc-gateway/plugin'
import { word } from './word.ts'

const say = defineTool({ name: 'say', description: 'Says a word.', args: Type.Object({}), execute: () => ${result} })
export default defineToolset({ name: 'words', description: 'Words.', tools: [say] })
`
const word = (text: string) => `export const word: string = '${text}'\n`

async function start(words = plugin('word')) {
  const dir = temporaryFolder()
  const write = (name: string, text: string) => writeFileSync(join(dir, name), text)
  write('words.ts', words)
  write('word.ts', word('one'))
  const file = writeConfig(dir, { plugins: ['./words.ts'] })
  const gateway = await spawnGateway(file, { args: ['--watch', '--port', '0'] })
  /** The process that listens, which is not the one that watches. */
  const pid = (): number => JSON.parse(readFileSync(join(dir, 'state', 'gateway.json5.listening'), 'utf8')).pid
  const watched = new Set([pid()])
  onTestFinished(() => {
    gateway.process.kill('SIGKILL')
    for (const one of watched) if (isAlive(one)) process.kill(one, 'SIGKILL')
  })
  const say = async (): Promise<unknown> => {
    const options = { method: 'POST', headers: { authorization: `Bearer ${gatewayToken}` }, body: '{"tool":"say"}' }
    const answer = await ask(`${gateway.url}/tools/invoke`, options).catch(() => undefined)
    if (answer?.status === 200) watched.add(pid())
    return answer?.body?.result ?? answer?.body
  }
  /** From the line of this index on. */
  const log = (from = 0): string => gateway.log.slice(from).join('\n')
  return { dir, file, gateway, write, pid, say, log }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it('restarts the gateway on the same port when a file that a plugin imports changes', async () => {
  const { gateway, write, pid, say, log } = await start()
  expect(JSON.stringify(await say())).toContain('one')
  const first = pid()
  write('word.ts', word('two'))
  await expect.poll(async () => JSON.stringify(await say())).toContain('two')
  expect([pid() === first, isAlive(first)]).toEqual([false, false])
  expect(log()).toContain('The plugins have changed; the gateway restarts.')
  const last = pid()
  expect(await gateway.end('SIGTERM')).toBe(0)
  expect(isAlive(last)).toBe(false)
})

it('notices a change while the gateway starts, and ends the gateway when the watching process is killed', async () => {
  // The other process that imports the plugin would be late, if it ran at the same time.
  const editAtStart = `import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
const edited = import.meta.dirname + '/edited'
if (process.argv.includes('probe-plugins'))
  for (let tries = 0; tries < 100 && !existsSync(edited); tries++) await setTimeout(10)
else if (!existsSync(edited)) {
  writeFileSync(import.meta.dirname + '/word.ts', ${JSON.stringify(word('two'))})
  writeFileSync(edited, '')
}
`
  const { gateway, pid, say } = await start(editAtStart + plugin('word'))
  await expect.poll(async () => JSON.stringify(await say())).toContain('two')
  const watched = pid()
  await gateway.end('SIGKILL')
  await expect.poll(() => isAlive(watched)).toBe(false)
})

it('keeps the running gateway while a file is broken or missing, says where, and takes the repaired file', async () => {
  const { dir, file, gateway, write, pid, say, log } = await start()
  const first = pid()
  write('words.ts', plugin('word').replace('execute: ()', 'execute: ('))
  await expect
    .poll(() => log())
    .toMatch(/^The gateway keeps the plugins that it runs: The plugin "\.\/words\.ts" was refused/m)
  expect(log()).toContain(join(dir, 'words.ts:4:'))
  write('words.ts', plugin('word').replace('./word.ts', './other.ts'))
  await expect.poll(() => log()).toMatch(/^The gateway keeps .*Cannot find module/m)
  // A setting that the plugin does not know is a problem of the configuration.
  write('words.ts', plugin('word').replace("name: 'words'", "name: 'others'"))
  writeConfig(dir, { plugins: ['./words.ts'], tools: { words: {} } })
  await expect.poll(() => log()).toMatch(/^The gateway keeps .*tools\.words/m)
  expect([JSON.stringify(await say()), pid()]).toEqual([expect.stringContaining('one'), first])
  writeConfig(dir, { plugins: ['./words.ts'] })
  write('words.ts', plugin('`three ${word}`'))
  await expect.poll(async () => JSON.stringify(await say())).toContain('three one')
  const earlier = gateway.log.length
  rmSync(join(dir, 'word.ts'))
  await expect.poll(() => log(earlier)).toMatch(/^The gateway keeps .*word\.ts/m)
  write('word.ts', word('four'))
  await expect.poll(async () => JSON.stringify(await say())).toContain('three four')
  expect(readFileSync(file, 'utf8')).toContain('words.ts')
})
