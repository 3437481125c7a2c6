// Starts the gateway on which the transcripts of docs/cli.md are run, with the files and accounts that they name.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { inject, vi } from 'vitest'
import { files } from '../docs-examples.ts'
import { account, type GmailDouble, refreshToken, startGmail } from '../doubles/gmail/gmail.ts'
import { openTelegram, type TelegramDouble } from '../doubles/telegram.ts'
import { type Document, gatewayToken, hookToken, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { createDatabase } from '../postgres.ts'
import { program } from '../program.ts'
import { closeAtEnd } from '../share.ts'
import { inFolder, run } from './command-line.ts'

export const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

const configOf = (messageTemplate: string, { gmail, telegram }: Doubles): Document => ({
  agents: { defaults: { heartbeat: { every: 0 } } },
  // Without the tools that channels bring, the list of tools is short.
  tools: { deny: ['group:channels'] },
  channels: { console: { defaultTo: 'console' }, telegram: { ...telegram.config, dmPolicy: 'pairing' } },
  hooks: {
    token: hookToken,
    presets: ['gmail'],
    gmail: { watch: { account, credentials: 'gmail.json', urls: gmail.urls } },
    mappings: [
      {
        id: 'deploys',
        match: { path: 'deploys' },
        name: 'Deploy',
        sessionKey: 'hook:deploys:{{ service }}',
        messageTemplate,
        channel: 'console',
        wakeMode: 'next-heartbeat',
      },
    ],
  },
})

interface Doubles {
  gmail: GmailDouble
  telegram: TelegramDouble
}

async function startDoubles(): Promise<Doubles> {
  const [gmail, telegram] = [await startGmail(), await openTelegram()]
  closeAtEnd(gmail.close)
  closeAtEnd(telegram.close)
  return { gmail, telegram }
}

function writeFiles(dir: string): void {
  cpSync(new URL('../../transforms', import.meta.url), join(dir, 'transforms'), { recursive: true })
  const lines = [{ sku: 'TEA', title: 'Tea', quantity: 1, stock: 9 }]
  const openclaw = { hooks: { enabled: true, token: hookToken }, browser: { enabled: true } }
  const person = { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: refreshToken }
  const [, curl = ''] = /^```sh\n(curl [^]*?)^```$/m.exec(page) ?? []
  for (const [file, content] of Object.entries({
    'order.json': JSON.stringify({ order: 'A-17', currency: 'EUR', total: 5, lines }),
    'openclaw.json': JSON.stringify(openclaw),
    'gmail.json': JSON.stringify(person),
    'example.sh': curl,
    'dice.ts': files.find(({ name }) => name === 'dice.ts')?.text ?? '',
    'broken.json5': '{\n  gateway: { prt: 18789 },\n  hooks: { enabled: true },\n}\n',
  }))
    writeFileSync(join(dir, file), content, { mode: 0o600 })
}

const split = (command: string) =>
  Array.from(command.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '')

const deployed = { service: 'shop', text: 'Ada has deployed shop.' }
const wait = { prefer: 'wait=60' }

/**
 * Returns a function that runs a command of the page. The mapping rejects a payload without a text until a command
 * replays what was rejected; then it has a fallback.
 */
export async function startTranscripts() {
  const dir = realpathSync(temporaryFolder())
  writeFiles(dir)
  const doubles = await startDoubles()
  const gateway = await startGateway(configOf('{{ text }}', doubles), dir)
  const ids = await createHistory(gateway)
  const code = await pair(gateway, doubles)
  await vi.waitUntil(async () => (await gateway.get('/api/extensions')).body.jobs[0]?.state === 'connected', 30_000)
  const database = await createDatabase(inject('postgresUrl'))
  closeAtEnd(database.remove)
  const env = { SVC_GATEWAY_URL: gateway.url, SVC_GATEWAY_TOKEN: gatewayToken, SVC_GATEWAY_HOOK_TOKEN: hookToken }
  const argumentsOf = (command: string) =>
    split(command)
      .map((word) => word.replace(/^[\da-f]{8}-[\da-f-]{27}$/, command.startsWith('runs ') ? ids.run : ids.request))
      .map((word) => word.replace(/^postgres:.+/, database.url).replace(/^K7M2QXRT$/, code))

  return async (command: string, { lines }: { lines: number }) => {
    if (command.includes('--status rejected')) {
      writeConfig(dir, configOf('{{ text || service }}', doubles))
      await gateway.gateway.reload()
    }
    const args = argumentsOf(command)
    const ended = command.startsWith('tail ')
      ? await follow({ dir, args, env, lines, onConnected: () => gateway.post('/hooks/deploys', deployed) })
      : await run(dir, args, { env })
    return { stdout: inHome(ended.stdout, dir), stderr: inHome(ended.stderr, dir) }
  }
}

/** Names the folder as the page does. */
const inHome = (shown: string, dir: string) => shown.replaceAll(dir, '/home/me/gateway')

type Running = Awaited<ReturnType<typeof startGateway>>

/** One request becomes a run that succeeds, and one is rejected. */
async function createHistory({ post, get }: Running): Promise<{ run: string; request: string }> {
  const { body } = await post('/hooks/deploys', deployed, wait)
  await post('/hooks/deploys', { service: 'blog' })
  const requests = async () => (await get('/api/requests')).body.items as { id: string; status: string }[]
  await vi.waitUntil(async () => (await requests()).length === 2, 30_000)
  return { run: body.runId, request: (await requests()).find(({ status }) => status === 'accepted')!.id }
}

/** A stranger writes on Telegram, and gets a code. */
async function pair({ get }: Running, { telegram }: Doubles): Promise<string> {
  const ada = { id: 123_456_789, is_bot: false, first_name: 'Ada' }
  telegram.push({ from: ada, chat: { id: ada.id, type: 'private' }, text: 'Hello?' })
  await telegram.called('sendMessage', 1)
  return (await get('/api/pairings')).body.items[0].code
}

interface Following {
  dir: string
  args: string[]
  env: NodeJS.ProcessEnv
  /** How many lines the page shows. */
  lines: number
  onConnected: () => Promise<unknown>
}

/** Ends a command that has no end of its own with Ctrl-C, after the lines that the page shows. */
async function follow({ dir, args, env, lines, onConnected }: Following): Promise<{ stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [program, ...args], inFolder(dir, env))
  closeAtEnd(() => child.kill('SIGKILL'))
  const ended = Promise.all([text(child.stdout), text(child.stderr)])
  let count = 0
  child.stdout.on('data', (data: Buffer) => {
    count += data.toString().split('\n').length - 1
    // The first line of the page is a notice on standard error.
    if (count >= lines - 1) child.kill('SIGINT')
  })
  await once(child.stderr, 'data')
  await onConnected()
  const [stdout, stderr] = await ended
  return { stdout, stderr }
}
