// Tests the command `trigger` as a child process, and its signatures against the schemes of a running gateway.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { HookAuth } from '../../core/config/schema/hook-auth.ts'
import { signRequest } from '../hooks/schemes.ts'
import { hookToken, temporaryFolder, writeConfig } from '../helpers.ts'
import { share } from '../share.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'
import { startReachable } from './reachable-gateway.ts'

const key = 'c2VjcmV0LW9mLXRoZS10ZXN0cy0wMTIzNDU2Nzg5'

const twilioUrl = 'https://gateway.example.com/hooks/twilio'

const schemes: Record<string, HookAuth> = {
  token: { scheme: 'token', secret: key, header: 'X-Pager-Token' },
  hmac: { scheme: 'hmac', secret: key, header: 'X-Sum', prefix: 'sum=', encoding: 'base64', algorithm: 'sha512' },
  'hmac-timed': {
    scheme: 'hmac',
    secret: key,
    header: 'X-Sum',
    separator: ',',
    prefix: 'v=',
    signed: '{timestamp}:{url}:{body}',
    timestampPrefix: 'time=',
    url: 'https://gateway.example.com/hooks/hmac-timed',
  },
  ...Object.fromEntries(
    ['github', 'stripe', 'slack', 'sentry', 'linear', 'pagerduty', 'gitlab', 'jira', 'shopify', 'gitea']
      .concat(['netlify', 'twilio', 'telegram', 'meta', 'zoom', 'standard-webhooks', 'svix'])
      .map((scheme) => [scheme, { scheme, secret: key, ...(scheme === 'twilio' && { url: twilioUrl }) }]),
  ),
}

const shared = share(async () => {
  const dir = temporaryFolder()
  const mappings = Object.entries(schemes).map(([path, auth]) => ({
    id: path,
    match: { path },
    auth,
    messageTemplate: '{{ text }}',
    deliver: false,
    wakeMode: 'next-heartbeat',
  }))
  const agents = { defaults: { heartbeat: { every: 0 } } }
  const { url } = await startReachable(writeConfig(dir, { agents, hooks: { mappings } }))
  const cli = (...args: string[]) => runHere(dir, ['trigger', ...args])
  const elsewhere = (...args: string[]) => runHere(temporaryFolder(), ['trigger', ...args])
  return { dir, url, cli, elsewhere }
})

const payload = '{"text":"Hëllo."}'

describe('svc-gateway trigger', () => {
  it('sends the payload with the hook token, and waits for the run', async () => {
    const data = '{"message":"Hello.","deliver":false}'
    const sent = await run(shared().dir, ['trigger', 'agent', '--data', data, '--wait', '60'])
    expect(sent).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(sent.stdout)).toMatchObject({ ok: true, status: 'succeeded' })
  })

  it('signs with the configured secret', async () => {
    const { cli, dir } = shared()
    writeFileSync(join(dir, 'payload.json'), payload)
    const sent = await cli('stripe', '--file', 'payload.json')
    expect(sent).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(sent.stdout)).toMatchObject({ ok: true, runId: expect.any(String) })
  })

  it('signs the public URL of the hook as the gateway reads it', async () => {
    const dir = temporaryFolder()
    const mapping = { match: { path: 'größe' }, auth: { scheme: 'twilio', secret: key }, messageTemplate: '{{ text }}' }
    const gateway = { publicUrl: 'https://gateway.example.com/gw/' }
    await startReachable(writeConfig(dir, { gateway, hooks: { mappings: [{ ...mapping, deliver: false }] } }))
    expect(await run(dir, ['trigger', 'größe', '--data', payload])).toMatchObject({ code: 0, stderr: '' })
  })

  it('needs no configuration for a gateway elsewhere', async () => {
    const { elsewhere, url } = shared()
    const github = ['github', '--data', payload, '--url', url, '--scheme', 'github', '--secret']
    expect(await elsewhere(...github, key)).toMatchObject({ code: 0, stderr: '' })
    expect(await elsewhere(...github, 'wrong')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^The hook rejected the request with 401 unauthorized: .+\n$/),
    })
    expect(await elsewhere('wake', '--data', '{"text":"x"}', '--url', url, '--token', hookToken)).toMatchObject({
      code: 0,
    })
  })

  it('shows the request of a dry run without the token', async () => {
    const { cli } = shared()
    const shown = await cli('wake', '--data', '{"text":"x"}', '--dry-run')
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout).toMatch(
      /^POST http:\S+\/hooks\/wake\ncontent-type: application\/json\nauthorization: Bearer …\n\n\{"text":"x"\}\n$/,
    )
    const signed = JSON.parse((await cli('github', '--data', payload, '--dry-run', '--json')).stdout)
    expect(signed.headers['x-hub-signature-256']).toMatch(/^sha256=[\da-f]{64}$/)
  })

  it.each([
    [['wake'], 'Give the payload with --data or --file, or send a sample of a preset with --sample.'],
    [['wake', '--data', '{}', '--file', 'x'], 'Give only one of --data, --file and --sample.'],
    [['wake', '--file', 'none.json'], '--file: none.json cannot be read (ENOENT).'],
    [['wake', '--data', '{}', '--header', 'nothing'], '--header "nothing" must have the form "name: value".'],
    [['wake', '--data', '{}'], 'The hook rejected the request with 400 invalid_request: text is required.'],
    [['wake', '--data', '{}', '--mapping', 'none'], 'There is no mapping with the id "none".'],
    [['wake', '--data', '{}', '--wait', '0'], "error: option '--wait <seconds>' argument '0' is invalid."],
    [['wake', '--data', '{}', '--scheme', 'githb'], '--scheme githb is unknown; did you mean "github"?'],
    [['linear', '--data', '[]'], 'The payload must be a JSON object, because its field webhookTimestamp is signed.'],
    [['wake', '--data', '{}', '--scheme', 'google-oidc'], 'Only Google can sign for the scheme google-oidc.'],
    [['wake', '--data', '{}', '--secret', 'x'], '--secret is for hooks that sign; name the scheme with --scheme'],
  ])('rejects bad input: %j', async (args, message) => {
    const ended = await shared().cli(...args)
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^${RegExp.escape(message)}.*\\n$`))
  })

  it('exits with 2 if no gateway answers', async () => {
    const args = ['wake', '--data', '{}', '--token', 'x', '--url', 'http://127.0.0.1:9']
    expect(await shared().elsewhere(...args)).toMatchObject({ code: 2, stdout: '' })
  })
})

/** A preset of a plugin, whose samples are in a file of their own. */
const doorbell = `import { definePreset, Type } from 'svc-gateway/plugin'
export default definePreset({
  name: 'doorbell',
  description: 'A doorbell.',
  payload: Type.Object({ id: Type.String(), door: Type.String() }),
  mapping: { messageTemplate: 'Somebody is at the {{ door }}.' },
  deliveryId: ({ payload }) => payload.id,
  samples: async (seed) => (await import('./doorbell-samples.ts')).createSamples(seed),
})`
const doorbellSamples = `import { lines } from 'svc-gateway/kit'
export const createSamples = ({ id }) => [{ name: 'pressed', payload: { id, door: lines('front door') } }]`

const withPresets = share(async () => {
  const dir = temporaryFolder()
  writeFileSync(join(dir, 'doorbell.ts'), doorbell)
  writeFileSync(join(dir, 'doorbell-samples.ts'), doorbellSamples)
  const section = { deliver: false, wakeMode: 'next-heartbeat' }
  const signed = { ...section, auth: { secret: key } }
  const file = writeConfig(dir, {
    plugins: ['./doorbell.ts'],
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: { presets: ['github', 'linear', 'doorbell'], github: signed, linear: signed, doorbell: section },
  })
  await startReachable(file)
  return (...args: string[]) => runHere(dir, ['trigger', ...args])
})

describe('svc-gateway trigger --sample', () => {
  it.each([
    [['github', '--sample'], 'issue #7 "The cart loses items"'],
    [['github', '--sample', 'pull-request-opened'], 'pull request #9 "Keep the cart"'],
    [['linear', '--sample', 'comment-created'], 'commented on issue ENG-7'],
    [['doorbell', '--sample'], 'Somebody is at the front door.'],
  ])('sends a signed sample, which starts a run: %j', async (args, text) => {
    const cli = withPresets()
    const sent = await cli(...args, '--wait', '60')
    expect(sent).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(sent.stdout)).toMatchObject({ status: 'succeeded', reply: expect.stringContaining(text) })
  })

  it('sends a new webhook each time, not a retry', async () => {
    const send = async () => JSON.parse((await withPresets()('github', '--sample', 'push')).stdout).runId
    const [first, second] = [await send(), await send()]
    expect([first, second]).toEqual([expect.any(String), expect.any(String)])
    expect(first).not.toBe(second)
  })

  it('lists the samples, also without a configuration', async () => {
    const listed = await run(temporaryFolder(), ['trigger', 'stripe', '--list-samples'])
    expect(listed).toEqual({ code: 0, stdout: 'charge-failed\ncharge-succeeded\nsubscription-deleted\n', stderr: '' })
    const json = await run(temporaryFolder(), ['trigger', 'gitlab', '--list-samples', '--json'])
    const [first] = json.stdout.trim().split('\n')
    expect(JSON.parse(first ?? '')).toMatchObject({ name: 'issue-opened', headers: { 'x-gitlab-event': 'Issue Hook' } })
  })

  it('lets --header replace a header of the sample', async () => {
    const header = ['--header', 'x-github-delivery: mine']
    const shown = await withPresets()('github', '--sample', '--dry-run', '--json', ...header)
    expect(JSON.parse(shown.stdout).headers).toMatchObject({ 'x-github-event': 'issues', 'x-github-delivery': 'mine' })
  })

  it.each([
    [['github', '--sample', 'pusch'], 'The preset "github" has no sample "pusch"; did you mean "push"?'],
    [
      ['github', '--sample', 'nothing'],
      'The preset "github" has no sample "nothing"; use one of these: issue-opened, ',
    ],
    [['githb', '--sample'], 'There is no preset "githb" that has samples; did you mean "github"?'],
    [['wake', '--list-samples'], 'There is no preset "wake" that has samples; give the payload with --data or --file'],
    [['github', '--sample', '--data', '{}'], 'Give only one of --data, --file and --sample.'],
  ])('rejects bad input: %j', async (args, message) => {
    const ended = await withPresets()(...args)
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^${RegExp.escape(message)}.*\\n$`))
  })
})

describe('signRequest', () => {
  it.each(Object.entries(schemes))('signs as the scheme requires: %s', async (name, auth) => {
    const request = {
      url: `${shared().url}/hooks/${name}`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(payload),
    }
    const { url, headers, body } = signRequest(auth, request, Date.now())
    const post = async (content: Buffer) =>
      (await fetch(url, { method: 'POST', headers, body: new Uint8Array(content) })).status
    expect(await post(body)).toBe(200)
  })
})
