// What a process prints while it uses WhatsApp: the library's dependency would print private keys.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { linkAccount, openLinked } from '../doubles/whatsapp-account.ts'

const canary = 'canary-of-the-message-text'

it('contains neither keys nor texts', async () => {
  const { output, secrets } = await runAccount({ silenced: true })
  expect(output).toContain('the account is connected')
  expect(output).not.toMatch(/privKey|ession|<Buffer/)
  for (const secret of secrets) expect(output).not.toContain(secret)
})

it('would contain private keys if the console were not filtered', async () => {
  const { output } = await runAccount({ silenced: false })
  expect(output).toMatch(/Closing session[^]*privKey: <Buffer/)
})

/** Uses an account in a process of its own until a session is replaced. @returns everything that the process prints */
async function runAccount({ silenced }: { silenced: boolean }) {
  const { server, records } = await openLinked(await linkAccount())
  const dir = await mkdtemp(join(tmpdir(), 'whatsapp-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const stateFile = join(dir, 'state.json')
  await writeFile(stateFile, JSON.stringify([...records]), { mode: 0o600 })
  const settings = { stateFile, silenced, config: server.config, root: Buffer.from(server.root).toString('base64') }
  const child = spawn(
    process.execPath,
    ['--conditions=svc-gateway-source', '--input-type=module', '--eval', script, JSON.stringify(settings)],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  )
  const printed = Promise.all([textOf(child.stdout), textOf(child.stderr)])
  await server.until(() => server.connected() === 1)
  for (const text of ['one', canary]) {
    await server.say(text)
    await server.until(() => server.pending().length === 0)
    server.forgetSession('15551112222')
  }
  await server.say('three')
  await server.until(() => server.received.length === 3)
  child.stdin.end()
  return { output: (await printed).join('\n'), secrets: [canary, ...secretsOf(records.get('credentials') as string)] }
}

/** The keys in the credentials, in every form in which they might be printed. */
function secretsOf(credentials: string): string[] {
  const { noiseKey, signedIdentityKey, advSecretKey } = JSON.parse(credentials) as StoredCredentials
  const keys = [noiseKey, signedIdentityKey].map(({ private: key }) => key.data)
  return [...keys, advSecretKey].flatMap((key) => [
    key,
    Buffer.from(key, 'base64').toString('hex'),
    Buffer.from(key, 'base64').join(','),
  ])
}

interface StoredCredentials {
  noiseKey: { private: { data: string } }
  signedIdentityKey: { private: { data: string } }
  advSecretKey: string
}

/** Answers every message, and prints its log in full. */
const script = `
  const { readFile } = await import('node:fs/promises')
  const { stateFile, silenced, config, root } = JSON.parse(process.argv.at(-1))
  const { WA_CERT_DETAILS } = await import('baileys')
  WA_CERT_DETAILS.PUBLIC_KEY.set(Buffer.from(root, 'base64'))
  const original = { ...console }
  const { default: channel } = await import('./channels/whatsapp/index.ts')
  const records = new Map(JSON.parse(await readFile(stateFile, 'utf8')))
  const state = {
    get: async (key) => records.get(key),
    set: async (key, value) => void records.set(key, value),
    delete: async (key) => void records.delete(key),
  }
  const write = (fields, message) => console.log(message, fields)
  const log = { debug: write, info: write, warn: write, error: write }
  let answered = 0
  const receive = async ({ to }) => {
    void connecting.then((connection) => connection.send({ key: String(answered++), to, text: 'answer' }))
    return 'accepted'
  }
  const signal = new AbortController().signal
  const context = { log, state, signal, accountId: 'default', receive, lost: write }
  const connecting = channel.connect(config, context)
  const connection = await connecting
  if (!silenced) Object.assign(console, original)
  console.log('the account is connected')
  process.stdin.resume().on('end', async () => {
    await connection.close()
    process.exit()
  })`
