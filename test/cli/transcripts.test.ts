// Checks the transcripts of docs/cli.md: runs their commands on a gateway and compares what they print.
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { gatewayToken, hookToken, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { share } from '../share.ts'
import { run } from './command-line.ts'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

interface Transcript {
  command: string
  output: string
}

/** The commands of the blocks without a language, with what they print. */
const transcripts = [...page.matchAll(/^```\n(\$ svc-gateway [^]*?)^```$/gm)].flatMap(([, block = '']) =>
  block.split(/^\$ svc-gateway /m).flatMap((part): Transcript[] => {
    const [command = '', ...output] = part.trimEnd().split('\n')
    return command === '' ? [] : [{ command, output: output.join('\n') }]
  }),
)

const startsWork = /^(replay|trigger|chat) /
/**
 * The others show accounts of platforms, the machine, Google's answers or a dialog, or have no end. Their own tests
 * cover them.
 */
const checked = transcripts
  .filter(({ command }) => !/^(channels|doctor|gmail|setup|tail)\b/.test(command))
  // What starts work comes last, so that lists are as short as on the page.
  .toSorted((one, other) => Number(startsWork.test(one.command)) - Number(startsWork.test(other.command)))

/** Ids, times, markers and places differ each time, and so does how the program is called. */
const normalize = (text: string) =>
  text
    .replaceAll(/\S+\/(?=(?:restored\/)?(?:gateway|imported)\.(?:tar\.gz|json5))/g, 'DIR/')
    .replaceAll(/npm start -- (?=check|start)/g, 'svc-gateway ')
    .replaceAll(/\([\d.]+ ms\)/g, '(TIME)')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f-]{21}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/TEXT [\da-f]{24}>/g, 'TEXT ID>')
    .trimEnd()

const split = (command: string) =>
  Array.from(command.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '')

const configOf = (messageTemplate: string) => ({
  agents: { defaults: { heartbeat: { every: 0 } } },
  // Without the tools that channels bring, the list of tools is short.
  tools: { deny: ['group:channels'] },
  channels: { console: { defaultTo: 'console' } },
  hooks: {
    token: hookToken,
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

/** The files that the transcripts name. */
function writeFiles(dir: string): void {
  cpSync(new URL('../../transforms', import.meta.url), join(dir, 'transforms'), { recursive: true })
  const lines = [{ sku: 'TEA', title: 'Tea', quantity: 1, stock: 9 }]
  writeFileSync(join(dir, 'order.json'), JSON.stringify({ order: 'A-17', currency: 'EUR', total: 5, lines }))
  const openclaw = { hooks: { enabled: true, token: hookToken }, browser: { enabled: true } }
  writeFileSync(join(dir, 'openclaw.json'), JSON.stringify(openclaw))
}

/** The mapping of the transcripts rejects a payload without a text, until it gets a fallback. */
const shared = share(async () => {
  const dir = temporaryFolder()
  writeFiles(dir)
  const gateway = await startGateway(configOf('{{ text }}'), dir)
  const wait = { prefer: 'wait=60' }
  const { body } = await gateway.post('/hooks/deploys', { service: 'shop', text: 'Ada has deployed shop.' }, wait)
  await gateway.post('/hooks/deploys', { service: 'blog' })
  const requests = async () => (await gateway.get('/api/requests')).body.items as { id: string; status: string }[]
  await vi.waitUntil(async () => (await requests()).length === 2)
  const accepted = (await requests()).find(({ status }) => status === 'accepted')!.id
  const env = { SVC_GATEWAY_URL: gateway.url, SVC_GATEWAY_TOKEN: gatewayToken, SVC_GATEWAY_HOOK_TOKEN: hookToken }
  const mend = async () => {
    writeConfig(dir, configOf('{{ text || service }}'))
    await gateway.gateway.reload()
  }
  const cli = (command: string) => {
    const id = command.startsWith('runs ') ? (body.runId as string) : accepted
    return run(dir, split(command.replace(/[\da-f]{8}-[\da-f-]{27}/, id)), { env })
  }
  return { cli, mend }
})

it('finds the transcripts', () => expect(checked.length).toBeGreaterThan(4))

it.each(checked)('$command', async ({ command, output }) => {
  const { cli, mend } = shared()
  if (command.includes('--status rejected')) await mend()
  const { stdout, stderr } = await cli(command)
  // A terminal shows both, some commands with their progress first.
  const shown = /^(Verifying|It returned)/m.test(stderr) ? stderr + stdout : stdout + stderr
  expect(normalize(shown)).toBe(normalize(output))
})
