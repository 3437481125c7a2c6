// The console channel: replies go to stdout, lines from stdin come in. The smallest whole channel; docs/plugins.md
// walks through it.
import { randomUUID } from 'node:crypto'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { type ChannelContext, defineChannel, type Static, Type } from 'svc-gateway/plugin'

const Config = Type.Object({
  file: Type.Optional(
    Type.String({
      path: true,
      pattern: String.raw`\S`,
      description:
        'A file to which every message is also appended, as a line of JSON. A log rotation may rename it: a new one is begun.',
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
    const journal = config.file ? await openJournal(config.file) : undefined
    const reading = config.input ? readLines(context) : undefined
    // When whoever read our output is gone, that fails a message (see below), not the process. All accounts share the
    // stream and its one listener.
    if (!process.stdout.listeners('error').includes(ignore)) process.stdout.on('error', ignore)
    return {
      async send({ key, to, text }) {
        if (journal?.has(key)) return { outcome: 'sent', id: key }
        try {
          await journal?.append({ key, to, text, at: new Date().toISOString() })
          await print(`[console] ${printable(to)}: ${printable(text)}\n`)
        } catch (error) {
          if (!journal?.has(key))
            return {
              outcome: 'failed',
              reason: 'transient',
              detail: (error as NodeJS.ErrnoException).code ?? 'it could not be written',
            }
        }
        return { outcome: 'sent', id: key }
      },
      async reconcile(key) {
        if (!journal) return 'unknown'
        return journal.has(key) ? 'sent' : 'absent'
      },
      async close() {
        await reading?.close()
        await journal?.close()
      },
    }
  },
})

/** What the file holds is what was sent: a key that is in it is never written again, not even after a crash. */
async function openJournal(file: string) {
  let { handle, keys, torn } = await openFile(file)
  let last: Promise<unknown> = Promise.resolve()

  async function write(record: Message): Promise<void> {
    if (!(await isStill(file, handle))) await reopen()
    const line = `${torn ? '\n' : ''}${JSON.stringify(record)}\n`
    torn = true
    await handle.appendFile(line)
    await handle.datasync()
    torn = false
    keys.add(record.key)
  }

  /** Log rotation has put the file elsewhere. What was sent stays known. */
  async function reopen(): Promise<void> {
    const next = await openFile(file)
    await handle.close()
    ;({ handle, torn } = next)
    keys = keys.union(next.keys)
  }

  return {
    has: (key: string) => keys.has(key),
    /** One record after the other, so that each has a line of its own. */
    append(record: Message): Promise<void> {
      const written = last.then(() => write(record))
      last = written.catch(ignore)
      return written
    },
    async close() {
      await last
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
  // A crash or a full disk may have left half a line: the next record starts on a line of its own.
  return { handle, keys: new Set(content.split('\n').flatMap(keyOf)), torn: content !== '' && !content.endsWith('\n') }
}

async function isStill(file: string, handle: FileHandle): Promise<boolean> {
  const [opened, named] = await Promise.all([handle.stat(), stat(file).catch(ignore)])
  return opened.dev === named?.dev && opened.ino === named.ino
}

function keyOf(line: string): string[] {
  try {
    const { key } = JSON.parse(line) as { key?: unknown }
    return typeof key === 'string' ? [key] : []
  } catch {
    return []
  }
}

/** Each line becomes a message; the next one waits until it is on disk. */
function readLines(context: ChannelContext) {
  const lines = createInterface({ input: process.stdin, signal: context.signal })
  const done = (async () => {
    for await (const text of lines) {
      if (text.trim() !== '') await context.receive({ id: randomUUID(), from: { id: 'console' }, to: 'console', text })
    }
  })().catch((error: unknown) => context.log.error({ err: error }, 'reading from the terminal ended'))
  return {
    close: async () => {
      lines.close()
      await done
    },
  }
}

/** Resolves when the line has left the process; rejects when nobody reads any more. */
const print = (line: string) =>
  new Promise<void>((resolve, reject) => process.stdout.write(line, (error) => (error ? reject(error) : resolve())))

const ignore = () => undefined

/**
 * A message must not move the cursor, colour the terminal, or pretend to be another one: its further lines are
 * indented.
 */
const printable = (text: string) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, escape)

const escape = (character: string) =>
  character === '\n' ? '\n    ' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
