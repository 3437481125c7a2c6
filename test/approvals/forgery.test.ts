// Tests that no arguments make a question say anything but what runs. The contract of channels sends such questions over
// the wire of each platform; here are more of them, in the formats of all channels.
import { describe, expect, it } from 'vitest'
import consoleChannel from '../../channels/console.ts'
import discord from '../../channels/discord/index.ts'
import imessage from '../../channels/imessage/index.ts'
import mattermost from '../../channels/mattermost/index.ts'
import msteams from '../../channels/msteams/index.ts'
import signal from '../../channels/signal/index.ts'
import slack from '../../channels/slack/index.ts'
import telegram from '../../channels/telegram/index.ts'
import whatsapp from '../../channels/whatsapp/index.ts'
import { renderQuestion } from '../../core/approvals/question.ts'
import { showText } from '../../core/kit/show-json.ts'
import { createHostileArgs, questionFor, readQuestion } from '../contracts/questions.ts'

const channels = [consoleChannel, discord, imessage, mattermost, msteams, signal, slack, telegram, whatsapp]

describe('a question', () => {
  it.each(channels.map(({ name, limits }) => ({ name, limits })))(
    'says on $name exactly what runs, for 300 hostile arguments',
    async ({ limits }) => {
      for (const args of createHostileArgs(300)) {
        const texts = (await questionFor(args, limits)).map(({ text }) => text)
        expect(readQuestion(texts, limits)).toEqual({ args, tool: 'launch' })
      }
    },
  )

  it('with arguments that are too long is not answered in the chat, and says how long they are', () => {
    const args = JSON.stringify({ padding: ' '.repeat(100_000), command: 'rm -rf /' })
    const call = { agentId: 'main', origin: 'webhook x', tool: 'launch', rule: 'tools.ask', args }
    const approval = { id: 'an-id', isNarrowed: false, ...call }
    const closed = `Its arguments have ${args.length} characters, which are too many to show here`
    const text = renderQuestion({ approval, code: undefined, closed, timeoutMs: 90_000 })
    expect(text).toContain(`arguments: ${args.length} characters of JSON\n`)
    expect(text).toContain('so it cannot be approved here. Read and answer it with `svc-gateway approvals show an-id`.')
    expect(text).not.toMatch(/^\d+\|/m)
    expect(text).not.toContain('approve ')
  })

  it('shows look-alikes of a name as what they are', () => {
    expect(showText('lаunch')).toBe(String.raw`l\u0430unch`)
    expect(showText('ｌaunch')).toBe(String.raw`\uff4caunch`)
    expect(showText('x'.repeat(300))).toBe(`${'x'.repeat(200)} [cut: 300 characters in all]`)
  })
})
