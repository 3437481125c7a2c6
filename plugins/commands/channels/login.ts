// Links an account of a channel: shows each code until it is used, and asks what the channel wants to know.
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { escapeInLine } from 'svc-gateway/kit'
import { type CommandContext, CommandError } from 'svc-gateway/plugin'

interface Login {
  status: 'waiting' | 'linked' | 'failed'
  account: string
  qr?: string
  code?: string
  url?: string
  question?: { id: string; text: string; secret: boolean }
  reason?: string
}

/** How often the newest code is asked for. Codes live for about 20 seconds. */
const pollMs = 1_000

export async function login(
  { name, account, json }: { name: string; account?: string; json?: boolean },
  { control, terminal, signal }: CommandContext<'control'>,
): Promise<void> {
  const path = `/api/channels/${encodeURIComponent(name)}/login`
  const query = account === undefined ? '' : `?${new URLSearchParams({ account }).toString()}`
  const show = createScreen()
  let shown: string | undefined
  const ended = (): CommandError => new CommandError('The login was ended.')
  const interrupted = once(signal, 'abort').then(() => Promise.reject(ended()))
  // It is handled where something waits for it.
  interrupted.catch(() => undefined)
  const answer = async ({ id: questionId, text, secret }: NonNullable<Login['question']>): Promise<Login> => {
    if (json) terminal.printJson({ type: 'question', text, secret })
    return await control.post<Login>(`${path}/answer`, {
      account,
      questionId,
      answer: await Promise.race([terminal.ask(text, { secret }), interrupted]),
    })
  }
  const follow = async ({ qr, code, url, question }: Login): Promise<Login> => {
    if (question) return await answer(question)
    const step = qr ?? [url, code].filter(Boolean).join(' ')
    if (step !== shown && json) terminal.printJson({ type: 'code', qr, code, url })
    else if (step !== shown) await show({ qr, code, url })
    shown = step
    await delay(pollMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) throw ended()
    return await control.get<Login>(path + query)
  }
  let view = await control.post<Login>(path, { account })
  try {
    while (view.status === 'waiting') view = await follow(view)
  } catch (error) {
    // The gateway goes on with a login that nobody watches, and the account stays disconnected meanwhile.
    await control.post(`${path}/cancel`, { account }).catch(() => undefined)
    throw error
  }
  if (view.status !== 'linked')
    throw new CommandError(`The login failed${view.reason === undefined ? '.' : `: ${escapeInLine(view.reason)}`}`)
  if (json) terminal.printJson({ type: 'result', ...view })
  else terminal.print(`The account ${view.account} of ${name} is linked.`)
}

type Step = { [Key in 'qr' | 'code' | 'url']: string | undefined }

/** In a terminal, each code replaces the one before. */
function createScreen(): (step: Step) => Promise<void> {
  const { stdout } = process
  let lines = 0
  return async ({ qr, ...step }) => {
    if (stdout.isTTY && lines > 0) stdout.write(`\x1b[${lines}A\x1b[J`)
    const text = qr === undefined ? describeCode(step) : await describeQrCode(qr)
    stdout.write(text)
    lines = text.split('\n').length - 1
  }
}

function describeCode({ url, code }: Omit<Step, 'qr'>): string {
  if (url === undefined) return code === undefined ? '' : `Type this code into the app: ${escapeInLine(code)}\n`
  const rest = code === undefined ? '' : `Enter this code there: ${escapeInLine(code)}\n`
  return `Open this address in a browser: ${escapeInLine(url)}\n${rest}`
}

/** Light squares are drawn and dark ones are spaces, as a dark terminal needs it. */
async function describeQrCode(qr: string): Promise<string> {
  const { renderUnicodeCompact } = await import('uqr')
  const picture = renderUnicodeCompact(qr, { border: 2 })
  // White on black, whatever the colours of the terminal are.
  const shown = process.stdout.isTTY ? picture.replaceAll(/^.+$/gm, '\x1b[97;40m$&\x1b[0m') : picture
  return `${shown}\nScan this code with the app. It is renewed here until you do; Ctrl-C stops it.\n`
}
