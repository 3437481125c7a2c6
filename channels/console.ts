// The console channel: prints messages on standard output and reads them from standard input. It is the smallest
// complete channel, and an example for your own.
import { randomUUID } from 'node:crypto'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { createSerialQueue, fieldsOfJson } from 'svc-gateway/kit'
import { type ChannelContext, defineChannel, type Static, Type } from 'svc-gateway/plugin'

const Config = Type.Object({
  file: Type.Optional(
    Type.String({
      path: true,
      pattern: String.raw`\S`,
      description: 'A file to which every message is also appended, as a line of JSON. A rotated file is started anew.',
    }),
  ),
  input: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether lines typed into the terminal are messages to the agent.' }),
  ),
})

export default defineChannel<Static<typeof Config>>({
  name: 'console',
  description: "Prints messages on the gateway's standard output.",
  config: Config,
  target: Type.String({ pattern: String.raw`\S`, description: 'Any name; it is printed in front of the message.' }),
  limits: { maxText: 32_768, idempotency: 'reconcile' },

  async connect(config, context) {
    const sentLog = config.file ? await openSentLog(config.file) : undefined
    const reading = config.input ? readLines(context) : undefined
    // If the reader of the output is gone, a message fails (see below), not the process. All accounts share the stream
    // and its listener.
    if (!process.stdout.listeners('error').includes(ignore)) process.stdout.on('error', ignore)
    return {
      async send({ key, to, text }) {
        if (sentLog?.has(key)) return { outcome: 'sent', id: key }
        try {
          await sentLog?.append({ key, to, text, at: new Date().toISOString() })
          await print(`[console] ${escapeForTerminal(to)}: ${escapeForTerminal(text)}\n`)
        } catch (error) {
          if (!sentLog?.has(key))
            return {
              outcome: 'failed',
              reason: 'transient',
              detail: (error as NodeJS.ErrnoException).code ?? 'the message could not be written',
            }
        }
        return { outcome: 'sent', id: key }
      },
      async reconcile({ key }) {
        if (!sentLog) return 'unknown'
        return sentLog.has(key) ? 'sent' : 'absent'
      },
      async close() {
        await reading?.close()
        await sentLog?.close()
      },
    }
  },
})

/** The file records what was sent: a message whose key is in it is not written again, also not after a crash. */
async function openSentLog(file: string) {
  let { handle, keys, torn } = await openFile(file)
  /** One record at a time, so that each has its own line. */
  const writes = createSerialQueue()

  async function write(record: Message): Promise<void> {
    if (!(await isSameFile(file, handle))) await reopen()
    const line = `${torn ? '\n' : ''}${JSON.stringify(record)}\n`
    torn = true
    await handle.appendFile(line)
    await handle.datasync()
    torn = false
    keys.add(record.key)
  }

  /** Log rotation has renamed the file. The keys in the old one stay known. */
  async function reopen(): Promise<void> {
    const next = await openFile(file)
    await handle.close()
    ;({ handle, torn } = next)
    keys = keys.union(next.keys)
  }

  return {
    has: (key: string) => keys.has(key),
    append: (record: Message): Promise<void> => writes.add(() => write(record)),
    async close() {
      await writes.settled()
      await handle.close()
    },
  }
}

interface Message {
  key: string
  to: string
  text: string
  at: string
}

async function openFile(file: string) {
  const handle = await open(file, 'a+', 0o600)
  const content = await handle.readFile('utf8')
  // A crash or a full disk may have left half a line; the next record starts on a new line.
  const keys = content.split('\n').map((line) => fieldsOfJson(line)['key'])
  return {
    handle,
    keys: new Set(keys.filter((key) => typeof key === 'string')),
    torn: content !== '' && !content.endsWith('\n'),
  }
}

async function isSameFile(file: string, handle: FileHandle): Promise<boolean> {
  const [opened, named] = await Promise.all([handle.stat(), stat(file).catch(ignore)])
  return opened.dev === named?.dev && opened.ino === named.ino
}

/** Each line becomes a message. The next line waits until the message is on disk. */
function readLines(context: ChannelContext) {
  const lines = createInterface({ input: process.stdin, signal: context.signal })
  const done = (async () => {
    for await (const text of lines) {
      if (text.trim() !== '') await context.receive({ id: randomUUID(), from: { id: 'console' }, to: 'console', text })
    }
  })().catch((error: unknown) => {
    if (!context.signal.aborted) context.log.error({ err: error }, 'reading from the terminal ended')
  })
  return {
    close: async () => {
      lines.close()
      await done
    },
  }
}

/** Resolves when the line has left the process. Rejects if the reader is gone. */
const print = (line: string) =>
  new Promise<void>((resolve, reject) => process.stdout.write(line, (error) => (error ? reject(error) : resolve())))

const ignore = () => undefined

/**
 * Escapes control characters, so that a message cannot move the cursor or color the terminal. Further lines are
 * indented, so that they cannot pass for another message.
 */
const escapeForTerminal = (text: string) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, escapeCharacter)

const escapeCharacter = (character: string) =>
  character === '\n' ? '\n    ' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
