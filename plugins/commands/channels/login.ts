// Links an account of a channel: shows each code until it is used.
import { setTimeout as delay } from 'node:timers/promises'
import { escapeInLine } from 'svc-gateway/kit'
import { type CommandContext, CommandError } from 'svc-gateway/plugin'

interface Login {
  status: 'waiting' | 'linked' | 'failed'
  account: string
  qr?: string
  code?: string
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
  let view = await control.post<Login>(path, { account })
  while (view.status === 'waiting') {
    const { qr, code } = view
    if ((qr ?? code) !== shown && json) terminal.printJson({ type: 'code', qr, code })
    else if ((qr ?? code) !== shown) await show(view)
    shown = qr ?? code
    await delay(pollMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) {
      // The gateway goes on with a login that nobody watches, and the account stays disconnected meanwhile.
      await control.post(`${path}/cancel`, { account })
      throw new CommandError('The login was ended.')
    }
    view = await control.get<Login>(path + query)
  }
  if (view.status !== 'linked')
    throw new CommandError(`The login failed${view.reason === undefined ? '.' : `: ${escapeInLine(view.reason)}`}`)
  if (json) terminal.printJson({ type: 'result', ...view })
  else terminal.print(`The account ${view.account} of ${name} is linked.`)
}

/** In a terminal, each code replaces the one before. */
function createScreen(): (code: Pick<Login, 'qr' | 'code'>) => Promise<void> {
  const { stdout } = process
  let lines = 0
  return async ({ qr, code = '' }) => {
    if (stdout.isTTY && lines > 0) stdout.write(`\x1b[${lines}A\x1b[J`)
    const text = qr === undefined ? `Type this code into the app: ${escapeInLine(code)}\n` : await describeQrCode(qr)
    stdout.write(text)
    lines = text.split('\n').length - 1
  }
}

/** Light squares are drawn and dark ones are spaces, as a dark terminal needs it. */
async function describeQrCode(qr: string): Promise<string> {
  const { renderUnicodeCompact } = await import('uqr')
  const picture = renderUnicodeCompact(qr, { border: 2 })
  // White on black, whatever the colours of the terminal are.
  const shown = process.stdout.isTTY ? picture.replaceAll(/^.+$/gm, '\x1b[97;40m$&\x1b[0m') : picture
  return `${shown}\nScan this code with the app. It is renewed here until you do; Ctrl-C stops it.\n`
}
