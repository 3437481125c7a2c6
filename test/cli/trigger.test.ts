// Tests the command `trigger` as a child process, and its signatures against the schemes of a running gateway.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { HookAuth } from '../../core/config/schema/hook-auth.ts'
import { signRequest } from '../../core/hooks/auth/sign-request.ts'
import { gatewayToken, hookToken, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { closeAtEnd, share } from '../share.ts'
import { run } from './command-line.ts'

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
      .map((scheme) => [scheme, { scheme, secret: key, ...(scheme === 'twilio' && { url: twilioUrl }) } as HookAuth]),
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
  const file = writeConfig(dir, {
    agents: { defaults: { heartbeat: { every: 0 } } },
    gateway: { port: 0, auth: { token: gatewayToken } },
    hooks: { mappings },
  })
  const gateway = await spawnGateway(file)
  closeAtEnd(() => gateway.end('SIGTERM'))
  const cli = (...args: string[]) => run(dir, ['trigger', ...args])
  const elsewhere = (...args: string[]) => run(temporaryFolder(), ['trigger', ...args])
  return { dir, url: gateway.url, cli, elsewhere }
})

const payload = '{"text":"Hëllo."}'

describe('svc-gateway trigger', () => {
  it('sends the payload with the hook token, and waits for the run', async () => {
    const sent = await shared().cli('agent', '--data', '{"message":"Hello.","deliver":false}', '--wait', '60')
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
    [['wake'], 'Give the payload with --data or --file.'],
    [['wake', '--data', '{}', '--file', 'x'], 'Give either --data or --file, not both.'],
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
