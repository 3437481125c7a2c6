// In a group with two bots, a command that names the other bot is not one for the agent.
import { expect, it } from 'vitest'
import { openTelegram } from '../doubles/telegram.ts'
import { startGateway } from '../helpers.ts'
import { openDouble } from './connect-channel.ts'

it('ignores commands to another bot in a group', async () => {
  const double = await openDouble(openTelegram())
  await startGateway({
    agents: { defaults: { heartbeat: { every: 0 } } },
    channels: { telegram: { ...double.config, allowFrom: ['42'], groups: { '-1001': { requireMention: false } } } },
  })
  const group = { id: -1001, type: 'supergroup', title: 'Team' }
  const text = '/new@deploy_bot'
  double.push({ chat: group, text, entities: [{ type: 'bot_command', offset: 0, length: text.length }] })
  double.push({ chat: group, text: 'and on' })
  await double.called('sendMessage', 1)
  await expect.poll(() => double.sent.some(({ shown }) => shown.includes('and on'))).toBe(true)
  expect(double.sent.map(({ shown }) => shown)).not.toContain('A new conversation has started.')
})
