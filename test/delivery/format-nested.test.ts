// Markdown that models write often: code in the steps of a list, bold text in a heading, links to hosts of a LAN.
import { describe, expect, it } from 'vitest'
import signal from '../../channels/signal/index.ts'
import telegram from '../../channels/telegram/index.ts'
import whatsapp from '../../channels/whatsapp/index.ts'
import { splitIntoChunks } from '../../core/delivery/format/chunks.ts'

const only = async (markdown: string, { limits }: { limits: Parameters<typeof splitIntoChunks>[1] }) => {
  const chunks = await splitIntoChunks(markdown, limits)
  expect(chunks).toHaveLength(1)
  return chunks[0]!
}

describe('a code block in a list', () => {
  const markdown = '1. Write this file:\n   ```yaml\n   a: 1\n   b:\n     - 2\n   ```\n2. Start it.'
  const code = 'a: 1\nb:\n  - 2'

  it('keeps its indentation on Telegram', async () => {
    const { text } = await only(markdown, telegram)
    expect(/<pre>(.*?)<\/pre>/s.exec(text)?.[1]).toBe(code)
  })

  it('keeps its indentation on WhatsApp', async () => {
    const { text } = await only(markdown, whatsapp)
    expect(/```\n(.*?)\n```/s.exec(text)?.[1]).toBe(code)
  })
})

describe('bold text in a heading', () => {
  it.each([
    ['## **Summary**', '*Summary*'],
    ['## Step 1: **Do it** now', '*Step 1: Do it now*'],
  ])('is marked once on WhatsApp: %s', async (markdown, expected) => {
    expect((await only(markdown, whatsapp)).text).toBe(expected)
  })

  it('is one range on Signal', async () => {
    expect(await only('## Step 1: **Do it** now', signal)).toEqual({
      text: 'Step 1: Do it now',
      ranges: [{ style: 'bold', start: 0, length: 17 }],
    })
  })
})

describe('a link of Telegram', () => {
  // https://github.com/grammyjs/grammY/issues/471: Telegram drops such a link, and shows only its text.
  it.each(['http://localhost:3000/d/1', 'http://grafana:3000/d/1', 'https://nas/backup'])(
    'does not lose the address of a host without a dot: %s',
    async (address) => {
      const { text } = await only(`See [the dashboard](${address}).`, telegram)
      expect(text.replace(/<[^>]*>/g, '')).toContain(address)
    },
  )
})
