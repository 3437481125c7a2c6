// The command `gmail setup` against a double of Google: what it creates, writes and prints, and what it refuses.
import { spawn } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  account,
  type GmailDouble,
  pushEmail,
  refreshToken,
  startGmail,
  subscription,
  topic,
} from '../doubles/gmail/gmail.ts'
import { gatewayToken, temporaryFolder } from '../helpers.ts'
import { program } from '../program.ts'
import { run as runCommand } from './command-line.ts'
import { startReachable } from './reachable-gateway.ts'

const client = { installed: { client_id: 'c', client_secret: 'secret-of-the-client', project_id: 'p' } }

async function prepare() {
  const gmail = await startGmail()
  onTestFinished(gmail.close)
  const dir = temporaryFolder()
  const config = join(dir, 'gateway.json5')
  writeFileSync(join(dir, 'client.json'), JSON.stringify(client))
  writeFileSync(config, textOf(gmail), { mode: 0o600 })
  return { gmail, dir, config }
}

/** A configuration with comments, and with the addresses of the double. */
const textOf = ({ urls }: GmailDouble): string => `{
  // Tokens.
  gateway: {
    port: 0,
    publicUrl: 'https://gateway.example.com',
    auth: { token: '${gatewayToken}' },
  },
  hooks: {
    enabled: true,
    token: 'hook-token-0123456789-0123456789-01', // for senders
    gmail: { watch: { account: 'old@example.com', credentials: 'old.json', urls: ${JSON.stringify(urls)} } },
  },
}
`

/** Runs the command, and agrees in the browser where it asks for that. */
async function run(config: string, ...args: string[]) {
  const child = spawn(process.execPath, [program, 'gmail', 'setup', '--config', config, ...args])
  onTestFinished(() => void child.kill())
  const [lines, errors]: [string[], string[]] = [[], []]
  const ended = Promise.withResolvers<number | null>()
  child.once('close', ended.resolve)
  createInterface({ input: child.stderr }).on('line', (line) => void errors.push(line))
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    const url = /http:\/\/127\.0\.0\.1:\d+\/authorize\S*[^"}\s]/.exec(line)?.[0]
    if (url) void fetch(url)
  })
  return { code: await ended.promise, lines, errors, text: [...lines, ...errors].join('\n') }
}

/** What docs/cli.md shows. */
const transcript = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
  .match(/^\$ svc-gateway gmail setup .*\n([^]*?)\n```$/m)?.[1]
  ?.split('\n')

const asInDocs = (line: string, config: string): string =>
  line
    .replace(/http\S+\/authorize\?\S+/, 'https://accounts.google.com/o/oauth2/v2/auth?…')
    .replace('projects/p/', 'projects/my-project/')
    .replace(config, '/home/ada/.svc-gateway/gateway.json5')

/** Starts a gateway on the configuration that the command has written, and waits until it is connected to Gmail. */
async function startConnected(config: string): Promise<void> {
  const { get } = await startReachable(config)
  await expect.poll(async () => (await get('/api/extensions')).body.jobs[0]?.state).toBe('connected')
}

describe('gmail setup', () => {
  it('gets access in the browser, stores the credentials privately, and keeps the rest of the file', async () => {
    const { dir, config } = await prepare()
    const { code, text } = await run(config, '--account', account, '--client', join(dir, 'client.json'))
    expect(text).toContain(`ok    Google grants access to ${account}.`)
    expect(code).toBe(0)
    const stored = join(dir, 'gmail-credentials.json')
    expect(statSync(stored).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(stored, 'utf8'))).toMatchObject({ refresh_token: refreshToken })
    const written = readFileSync(config, 'utf8')
    expect(written).toContain("presets: ['gmail']")
    expect(written).toContain(`account: '${account}', credentials: 'gmail-credentials.json'`)
    for (const kept of ['// Tokens.', '// for senders', '/authorize']) expect(written).toContain(kept)
    await startConnected(config)
    expect((await runCommand(dir, ['presets', 'list'])).stdout).toMatch(/^gmail +connected +20/)
    for (const secret of [refreshToken, client.installed.client_secret]) {
      expect(text).not.toContain(secret)
      expect(written).not.toContain(secret)
    }
  })

  it('prepares pull as docs/cli.md shows, and works again with the stored credentials', async () => {
    const { gmail, dir, config } = await prepare()
    const first = await run(config, '--account', account, '--client', join(dir, 'client.json'), '--mode', 'pull')
    expect(first.lines.map((line) => asInDocs(line, config))).toEqual(transcript)
    const { code, lines } = await run(config, '--account', account, '--mode', 'pull', '--project', 'p', '--json')
    expect(code).toBe(0)
    expect(lines.map((line) => Object.keys(JSON.parse(line) as object)[0])).toEqual(
      Array.from({ length: 8 }, () => 'done'),
    )
    expect(gmail.calls).toContain(`POST /v1/${topic}:setIamPolicy`)
    expect(gmail.calls).toContain('POST /gmail/v1/users/me/watch')
    expect(readFileSync(config, 'utf8')).toContain(`subscription: '${subscription}-pull'`)
    gmail.failNext(':pull', { status: 403, body: { error: { code: 403, message: 'Not allowed.' } } })
    expect((await run(config, '--account', account, '--mode', 'pull', '--project', 'p')).text).toContain(
      `gcloud pubsub subscriptions add-iam-policy-binding ${subscription}-pull --member=user:${account}`,
    )
    await startConnected(config)
    gmail.addMail()
    gmail.pubsub.publish()
    await expect.poll(() => gmail.pubsub.unacknowledged).toBe(0)
  })

  it('prepares push, and prints the commands for what the account may not do', async () => {
    const { gmail, dir, config } = await prepare()
    gmail.pubsub.mayAdminister = false
    const answers = ['--account', account, '--client', join(dir, 'client.json'), '--mode', 'push']
    expect((await run(config, ...answers)).text).toContain('add --push-email')
    const { code, text } = await run(config, ...answers, '--push-email', pushEmail)
    expect(code).toBe(0)
    expect(text).toContain(`Run: gcloud pubsub topics create ${topic}`)
    expect(text).toContain('--push-endpoint=https://gateway.example.com/hooks/gmail')
    expect(readFileSync(config, 'utf8')).toContain(`email: '${pushEmail}'`)
  })

  it('writes nothing if the access is refused or is for another mailbox', async () => {
    const { gmail, dir, config } = await prepare()
    const before = readFileSync(config, 'utf8')
    writeFileSync(join(dir, 'gmail-credentials.json'), 'the earlier credentials')
    const other = await run(config, '--account', 'eve@example.com', '--client', join(dir, 'client.json'))
    expect(other.text).toContain(`The credentials belong to ${account}, not to eve@example.com`)
    expect(readFileSync(join(dir, 'gmail-credentials.json'), 'utf8')).toBe('the earlier credentials')
    const { client_id, client_secret } = client.installed
    const credentials = { type: 'authorized_user', client_id, client_secret, refresh_token: refreshToken }
    writeFileSync(join(dir, 'gmail-credentials.json'), JSON.stringify(credentials))
    gmail.tokens.isRevoked = true
    const revoked = await run(config, '--account', account)
    expect(revoked.text).toContain('invalid_grant')
    expect([other.code, revoked.code]).toEqual([1, 1])
    expect(readFileSync(config, 'utf8')).toBe(before)
  })

  it('corrects the address of a subscription that exists, and refuses one of another topic', async () => {
    const { gmail, dir, config } = await prepare()
    const [name, push] = [`${subscription}-push`, ['--mode', 'push', '--push-email', pushEmail]]
    gmail.pubsub.subscriptions.set(name, { topic, pushConfig: { pushEndpoint: 'https://old.example.com/hooks/gmail' } })
    const client = ['--account', account, '--client', join(dir, 'client.json')]
    expect((await run(config, ...client, ...push)).code).toBe(0)
    expect(gmail.pubsub.subscriptions.get(name)).toMatchObject({
      pushConfig: { pushEndpoint: 'https://gateway.example.com/hooks/gmail' },
    })
    gmail.pubsub.subscriptions.set(name, { topic: 'projects/p/topics/other' })
    const { code, text } = await run(config, '--account', account, '--project', 'p', ...push)
    expect([code, text]).toEqual([1, expect.stringContaining(`run: gcloud pubsub subscriptions delete ${name}`)])
  })

  it('says in a sentence what is wrong with the client, the access or the network, and writes nothing', async () => {
    const { gmail, dir, config } = await prepare()
    const before = readFileSync(config, 'utf8')
    const [file, web] = [join(dir, 'client.json'), join(dir, 'web.json')]
    writeFileSync(web, JSON.stringify({ web: client.installed }))
    const fails = async (sentence: string, ...args: string[]) => {
      const { code, errors } = await run(config, '--account', account, ...args)
      expect([code, errors]).toEqual([1, [expect.stringContaining(sentence)]])
    }
    gmail.tokens.isDenied = true
    await Promise.all([
      fails('There are no stored credentials yet; name the file from Google Cloud Console with --client.'),
      fails('cannot be read as JSON', '--client', config),
      fails('is neither an OAuth client of the type "Desktop app" nor the key', '--client', web),
      fails('Google did not grant access; run the command again and agree to it.', '--client', file),
    ])
    gmail.tokens.isDenied = false
    gmail.tokens.granted = gmail.tokens.granted.slice(0, 1)
    await fails('did not grant https://www.googleapis.com/auth/pubsub', '--client', file, '--mode', 'pull')
    expect(gmail.calls.filter((call) => call.startsWith('PUT'))).toEqual([])
    gmail.failNext('/token', { status: 503 })
    await fails('Google issues no access token at the moment (503).', '--client', file)
    expect(readFileSync(config, 'utf8')).toBe(before)
    expect((await run(config, '--account', account, '--client', file)).code).toBe(0)
    await fails(
      'does not cover Google Pub/Sub; run "svc-gateway gmail setup" with --client',
      '--mode',
      'pull',
      '--project',
      'p',
    )
    await gmail.stopListening()
    await fails("Google's sign-in does not answer at")
  })
})
