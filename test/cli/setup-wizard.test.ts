// Tests the questions of the command `setup`, in a terminal.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import JSON5 from 'json5'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readConfigFile } from '../../core/config/file/read.ts'
import { startOpenAiChat, startOpenAiResponses } from '../doubles/openai.ts'
import { openTelegram } from '../doubles/telegram.ts'
import { temporaryFolder } from '../helpers.ts'
import { run } from './command-line.ts'
import { keys, openTerminal } from './terminal.ts'

const { enter, up, down, tab, space, ctrlC } = keys

/** A model server that lists two models. */
async function startServer(start = startOpenAiChat) {
  const server = await start()
  onTestFinished(() => server.close())
  server.otherwise(({ path }) =>
    path === '/v1/models'
      ? { status: 200, body: { data: [{ id: 'small' }, { id: 'big' }] } }
      : { text: 'Hello there.' },
  )
  return server
}

async function startTelegram() {
  const telegram = await openTelegram()
  onTestFinished(() => telegram.close())
  return telegram
}

const read = (folder: string) => JSON5.parse(readFileSync(join(folder, 'gateway.json5'), 'utf8')) as unknown

/** The questions in the transcript of docs/cli.md that do not depend on the channel. */
const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
const documentedQuestions = Array.from(
  page.matchAll(/^◇ {2}(Wh(?:ich|ere) [^?]+\?)/gm),
  ([, question = '']) => question,
)

describe('svc-gateway setup in a terminal', () => {
  it('asks for everything, refuses wrong answers, and writes what passes the check', async () => {
    const [server, folder] = [await startServer(), temporaryFolder()]
    const env = { MODEL_KEY: 'key-of-the-model-0123', GITHUB_WEBHOOK_SECRET: 'secret-of-github-0123' }
    const { see, press, screen, ended } = openTerminal(folder, ['setup'], env)
    await see('Which provider runs the model?')
    await see('The built-in rules model')
    press(up, up)
    await see("● Another server with OpenAI's API")
    press(enter)
    await see('The address of the API')
    press('localhost', enter)
    await see('baseUrl must match')
    press('\x15', `${server.url}/v1`, enter)
    await see('Its API key')
    press('${MODEL_KEYS}', enter)
    await see('The environment variable MODEL_KEYS is not set.')
    press('\x15', '${MODEL_KEY}', enter)
    await see('A name for it')
    press(enter)
    await see('Which model?')
    press(down, enter)
    await see('local/big replied in')
    await see('Hello there.')
    await see('Which channels should be connected?')
    press(down, down, down, down, space, enter)
    await see('signal account: The phone number')
    press('0123', enter)
    await see('account must match')
    press('\x15', '+15550000001', enter)
    await see('signal: Who may write to the agent?')
    press(enter)
    await see('The ids of the senders')
    press('+15550000002, +15550000003', enter)
    await see('The default recipient')
    press('somebody', enter)
    await see('The recipient must match')
    press('\x15', '+15550000002', enter)
    await see('signal was not tried. The account is checked when the gateway starts.')
    await see('Which services send webhooks?')
    press('github', tab, enter)
    await see('Use the environment variable GITHUB_WEBHOOK_SECRET')
    press(enter)
    await see('Where should the gateway listen?')
    press(down, enter)
    await see('The address; 0.0.0.0')
    press(enter)
    await see('The port')
    press('\x15', '99999', enter)
    await see('The port must be <= 65535')
    press('\x15', '18999', enter)
    await see('Write ')
    expect(existsSync(join(folder, 'gateway.json5'))).toBe(false)
    press(enter)
    expect(await ended).toBe(0)

    expect(read(folder)).toMatchObject({
      gateway: { bind: '127.0.0.1', port: 18999 },
      hooks: { presets: ['github'], github: { auth: { secret: '${GITHUB_WEBHOOK_SECRET}' } } },
      agents: { defaults: { model: 'local/big' } },
      providers: { local: { kind: 'openai-compatible', baseUrl: `${server.url}/v1`, apiKey: '${MODEL_KEY}' } },
      channels: {
        console: {},
        signal: {
          account: '+15550000001',
          allowFrom: ['+15550000002', '+15550000003'],
          defaultTo: '+15550000002',
        },
      },
    })
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(
      server.requests.map(() => `Bearer ${env.MODEL_KEY}`),
    )
    expect(screen()).toContain('start --config')
    expect(screen()).toMatch(
      /curl -sS .+ http:\/\/127\.0\.0\.1:18999\/hooks\/agent -H 'Authorization: Bearer [\w-]{43}'/,
    )
    for (const secret of Object.values(env)) expect(screen()).not.toContain(secret)
    for (const question of documentedQuestions) expect(screen()).toContain(question)
    expect(await run(folder, ['check'], { env })).toMatchObject({ code: 0, stdout: 'ok\n' })
  })

  it('offers the API key of the environment, and the models that it may use', async () => {
    const [server, folder] = [await startServer(startOpenAiResponses), temporaryFolder()]
    const env = { OPENAI_API_KEY: 'key-of-openai-0123456789', OPENAI_BASE_URL: `${server.url}/v1` }
    const args = ['setup', '--port', '0', '--set', 'hooks.presets=[]']
    const { see, press, screen, ended } = openTerminal(folder, args, env)
    await see('OpenAI, with OPENAI_API_KEY')
    await see('The built-in rules model')
    press(up, up, up, up, up)
    await see('● OpenAI, with OPENAI_API_KEY')
    press(enter)
    await see('Which model?')
    await see('● small')
    press(enter)
    await see('openai/small replied in')
    await see('Which channels should be connected?')
    press(enter)
    await see('Write ')
    press(enter)
    expect(await ended).toBe(0)
    const providers = { openai: { kind: 'openai', apiKey: '${OPENAI_API_KEY}' } }
    expect(read(folder)).toMatchObject({ agents: { defaults: { model: 'openai/small' } }, providers })
    expect(screen()).not.toContain(env.OPENAI_API_KEY)
  })

  it('writes nothing after Ctrl-C while the model is tried', async () => {
    const [server, folder] = [await startServer(), temporaryFolder()]
    server.script({ hang: true })
    const { press, see, ended } = openTerminal(folder, [
      'setup',
      '--model',
      'double/m',
      '--base-url',
      `${server.url}/v1`,
    ])
    await server.request(0)
    press(ctrlC)
    await see('Nothing was written.')
    expect(await ended).toBe(130)
    expect(existsSync(join(folder, 'gateway.json5'))).toBe(false)
  })

  it('shows why the model does not reply, and writes nothing after Ctrl-C', async () => {
    const [server, folder] = [await startServer(), temporaryFolder()]
    server.script({ status: 404, body: { error: { message: 'model "m" not found' } } })
    const args = ['setup', '--model', 'double/m', '--base-url', `${server.url}/v1`]
    const { see, press, ended } = openTerminal(folder, args)
    await see('double/m did not reply. The model\'s service answered 404. (AI_APICallError: model "m" not found)')
    await see('Keep it nevertheless')
    press(down, enter)
    await see('double/m replied in')
    await see('Which channels should be connected?')
    press(ctrlC)
    expect(await ended).toBe(130)
    expect(readdirSync(folder).filter((name) => name.startsWith('gateway'))).toEqual([])
  })

  it('asks only for what the options do not say, and again when the platform refuses the account', async () => {
    const [telegram, folder] = [await startTelegram(), temporaryFolder()]
    const { botToken, apiRoot } = telegram.config
    const secret = 'whsec_${of-stripe'
    const given = ['--set', `channels.telegram.apiRoot=${apiRoot}`, '--preset', 'stripe']
    const args = ['--model', 'builtin/rules', '--port', '0', ...given]
    const { see, press, screen, ended } = openTerminal(folder, ['setup', ...args])
    await see('telegram botToken: The token of the bot')
    press('654321:BBanother-token-9876543210', enter)
    await see('telegram: Who may write to the agent?')
    press(enter)
    await see('The ids of the senders')
    press('42', enter)
    await see('The default recipient')
    press(enter)
    await see('telegram did not connect. Telegram refuses the bot token.')
    await see('Leave the channel out')
    press(enter)
    await see('telegram botToken: The token of the bot')
    press(botToken, enter)
    await see('telegram: Who may write to the agent?')
    press(down, enter)
    await see('The default recipient')
    press(enter)
    await see('telegram connected.')
    await see('stripe secret: The secret')
    press(secret, enter)
    await see('Write ')
    press(enter)
    expect(await ended).toBe(0)
    const { value } = readConfigFile(join(folder, 'gateway.json5'), {})
    expect(value['channels']).toMatchObject({ telegram: { botToken, dmPolicy: 'pairing' } })
    expect(value['hooks']).toMatchObject({ presets: ['stripe'], stripe: { auth: { secret } } })
    for (const typed of [botToken, secret]) expect(screen()).not.toContain(typed)
    await telegram.deserted()
  })
})
