// The commands `channels list`, `channels login` and `channels logout`, which ask the running gateway.
import { setTimeout as delay } from 'node:timers/promises'
import type { ConnectionState } from '../../delivery/connections/link.ts'
import type { LoginView } from '../../delivery/connections/login.ts'
import { drawQrCode } from '../../delivery/connections/qr-code.ts'
import { CommandError } from '../../plugin/errors.ts'
import { type ControlOptions, openControl } from '../control-client.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import { printJson, printList } from '../inspect/output.ts'

interface AccountOptions extends ControlOptions {
  account?: string
  json?: boolean
}

type AccountLine = Omit<ConnectionState, 'since'> & { since: string }

export async function listChannels({ json, ...options }: ControlOptions & { json?: boolean }): Promise<void> {
  const { accounts } = (await openControl(options).get('/api/channels')) as { accounts: AccountLine[] }
  await printList(
    accounts,
    { json },
    {
      noun: 'configured accounts',
      columns: [
        { title: 'CHANNEL', text: ({ channel }) => channel },
        { title: 'ACCOUNT', text: ({ accountId }) => accountId },
        { title: 'STATE', text: ({ state }) => state },
        { title: 'SINCE', text: ({ since }) => since },
        { title: 'REASON', text: ({ reason = '' }) => reason },
      ],
    },
  )
}

/** How often the newest code is asked for. Codes live for about 20 seconds. */
const pollMs = 1_000

/** Shows each code until the account is linked. */
export async function login(channel: string, { account, json = false, ...options }: AccountOptions): Promise<void> {
  const control = openControl(options)
  const path = `/api/channels/${encodeURIComponent(channel)}/login`
  const query = account === undefined ? '' : `?${new URLSearchParams({ account }).toString()}`
  const show = forNewCodes(json ? printCode : createScreen())
  const cancel = async (): Promise<void> => void (await control.post(`${path}/cancel`, { account }))
  const view = await endWhenInterrupted(cancel, async (interrupted) => {
    let latest = (await control.post(path, { account })) as LoginView
    while (latest.status === 'waiting') {
      await show(latest)
      await delay(pollMs, undefined, { signal: interrupted })
      latest = (await control.get(path + query)) as LoginView
    }
    return latest
  })
  if (view.status !== 'linked')
    throw new CommandError(`The login failed${view.reason === undefined ? '.' : `: ${escapeInLine(view.reason)}`}`)
  if (json) printJson({ type: 'result', ...view })
  else process.stdout.write(`The account ${escapeInLine(view.account)} of ${channel} is linked.\n`)
}

/** The gateway goes on with a login that nobody watches, and the account stays disconnected meanwhile. */
async function endWhenInterrupted<Result>(
  cancel: () => Promise<void>,
  work: (interrupted: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const interrupt = new AbortController()
  const onSignal = (): void => interrupt.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal)
  try {
    return await work(interrupt.signal)
  } catch (error) {
    if (!interrupt.signal.aborted) throw error
    await cancel()
    throw new CommandError('The login was ended.')
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal)
  }
}

export async function logout(channel: string, { account, json, ...options }: AccountOptions): Promise<void> {
  const answer = await openControl(options).post(`/api/channels/${encodeURIComponent(channel)}/logout`, { account })
  if (json) printJson(answer)
  else process.stdout.write(`${channel} is unlinked.\n`)
}

type ShowCode = (code: Pick<LoginView, 'qr' | 'code'>) => Promise<void> | void

/** Calls `show` only if there is a code, and if it is another one than before. */
function forNewCodes(show: ShowCode): ShowCode {
  let last: string | undefined
  return async ({ qr, code }) => {
    const shown = qr ?? code
    if (shown === undefined || shown === last) return
    last = shown
    await show({ qr, code })
  }
}

const printCode: ShowCode = ({ qr, code }) => printJson({ type: 'code', qr, code })

/** In a terminal, each code replaces the one before. */
function createScreen(): ShowCode {
  const { stdout } = process
  let lines = 0
  return async ({ qr, code = '' }) => {
    if (stdout.isTTY && lines > 0) stdout.write(`\x1b[${lines}A\x1b[J`)
    const text = qr === undefined ? `Type this code into the app: ${escapeInLine(code)}\n` : await describeQrCode(qr)
    stdout.write(text)
    lines = text.split('\n').length - 1
  }
}

async function describeQrCode(qr: string): Promise<string> {
  const picture = await drawQrCode(qr)
  const hint = 'Scan this code with the app. It is renewed here until you do; Ctrl-C stops it.'
  return `${process.stdout.isTTY ? colour(picture) : picture}${hint}\n`
}

/** White on black, whatever the colours of the terminal are. */
const colour = (picture: string): string => picture.replaceAll(/^.+$/gm, '\x1b[97;40m$&\x1b[0m')
