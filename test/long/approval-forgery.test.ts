// Tests on the wire of each platform that no arguments make a question say anything but what would run: agents make
// hostile calls in a real gateway, and the question is read from what the platform got. SEED= repeats a run.
import { expect, it, vi } from 'vitest'
import consoleChannel from '../../channels/console.ts'
import discord from '../../channels/discord/index.ts'
import imessage from '../../channels/imessage/index.ts'
import mattermost from '../../channels/mattermost/index.ts'
import msteams from '../../channels/msteams/index.ts'
import signal from '../../channels/signal/index.ts'
import slack from '../../channels/slack/index.ts'
import telegram from '../../channels/telegram/index.ts'
import whatsapp from '../../channels/whatsapp/index.ts'
import { createHostileArgs, readQuestion } from '../contracts/questions.ts'
import { createLaunchPad, plugins } from '../approvals/launch-pad.ts'
import { channelDoubles } from '../doubles/channels.ts'
import { startModel } from '../doubles/model.ts'
import { ask, gatewayToken, hookToken, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { closeAtEnd } from '../share.ts'

const count = Number(process.env['CALLS'] ?? 300)
const channels = [consoleChannel, discord, imessage, mattermost, msteams, signal, slack, telegram, whatsapp]
const patience = { timeout: 60_000, interval: 10 }

async function start(name: string) {
  const double = await channelDoubles[name]!()
  closeAtEnd(double.close)
  const [model, dir] = [await startModel(), temporaryFolder()]
  await double.prepare?.(dir)
  const to = double.recipients[0]!
  const file = writeConfig(dir, {
    ...createLaunchPad(dir).document(),
    plugins: [plugins],
    channels: { [double.name]: double.settings },
    approvals: { channel: double.name, to, approvers: ['1'] },
    hooks: { token: hookToken, allowRequestSessionKey: true, maxQueuedRuns: 2 * count },
    providers: model.providers,
  })
  const gateway = await spawnGateway(file, { nodeOptions: double.nodeOptions ?? [] })
  closeAtEnd(() => gateway.end('SIGTERM'))
  const { limits } = channels.find((channel) => channel.name === double.name)!
  return { double, model, gateway, limits }
}

it.each(Object.keys(channelDoubles))('what runs is what is asked on %s', async (name) => {
  const { double, model, gateway, limits } = await start(name)
  const headers = { authorization: `Bearer ${hookToken}`, 'content-type': 'application/json' }
  const asked: unknown[] = []
  for (const [index, args] of createHostileArgs(count).entries()) {
    const before = (await double.texts()).length
    model.script({ tool: 'launch', args })
    const work = { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat', sessionKey: `hook:${index}` }
    const { body } = await ask(`${gateway.url}/hooks/agent`, { method: 'POST', headers, body: JSON.stringify(work) })
    const texts = await vi.waitUntil(async () => {
      const some = (await double.texts()).slice(before)
      return some.at(-1)?.endsWith('with a reason. After 1 hour it is denied.') && some
    }, patience)
    const [, code = ''] = /^Answer (?:`|<code>)?approve ([A-Z2-9]{8})/m.exec(texts.at(-1) ?? '')?.map(String) ?? []
    expect(readQuestion(texts, limits, code)).toEqual({ args, tool: 'launch' })
    if (double.buttons) {
      const expected = [['Approve', `approve ${code}`], ['Deny', `deny ${code}`]] // prettier-ignore
      await vi.waitUntil(async () => (await double.buttons!())[0]?.[1] === expected[0]![1], patience)
      expect(await double.buttons()).toEqual(expected)
    }
    asked.push((body as { runId: string }).runId)
  }
  const operator = { headers: { authorization: `Bearer ${gatewayToken}` } }
  const { body } = await ask(`${gateway.url}/api/approvals?status=waiting&limit=1`, operator)
  expect((body as { items: unknown[] }).items).toHaveLength(1)
  console.log(`${name}: ${asked.length} questions`)
})
