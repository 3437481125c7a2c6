// Runs `imsg rpc` as a child process and talks to it in lines of JSON.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { type Log } from 'svc-gateway/plugin'
import { fieldsOf, fieldsOfJson } from 'svc-gateway/kit'

/** A method of imsg failed. The message is fixed, because that of imsg could quote anything. */
export class ImsgError extends Error {
  override readonly name = 'ImsgError'
  readonly code: number
  readonly data: Readonly<Record<string, unknown>>

  constructor(method: string, error: unknown) {
    const { code, data } = fieldsOf(error)
    super(`imsg answered the call of ${method} with the error ${Number(code)}.`)
    this.code = Number(code)
    this.data = fieldsOf(data)
  }
}

/** imsg was not running any more when the method was called: it has done nothing. */
export class NotRunningError extends Error {
  override readonly name = 'NotRunningError'
}

export interface Imsg {
  /** Rejects if imsg ends or does not answer in time; it may have done its work then. */
  call(method: string, params: object): Promise<Readonly<Record<string, unknown>>>
  /** Sets who gets the notifications; before, they are dropped. */
  listen(listener: (method: string, params: unknown) => void): void
  /** Resolves with the reason when imsg has ended. */
  ended: Promise<string>
  /** Ends imsg and whatever it has started. */
  close(): Promise<void>
}

/** imsg sends one message after the other and watches for up to eight seconds whether each was sent. */
const answerMs = 120_000
/** How long imsg has to end by itself. */
const graceMs = 2_000

export async function startImsg(cliPath: string, log: Log): Promise<Imsg> {
  // The error output may quote messages. A group of its own keeps Ctrl-C in a terminal from ending imsg before the
  // gateway has finished its work.
  const child = spawn(cliPath, ['rpc'], { stdio: ['pipe', 'pipe', 'ignore'], detached: true })
  const calls = createCalls((line) => void child.stdin.write(line))
  const ended = new Promise<string>((resolve) =>
    child.once('close', (code, signal) => resolve(`imsg ended (${signal ?? `exit code ${code}`})`)),
  )
  await once(child, 'spawn').catch((error: NodeJS.ErrnoException) => {
    const hint = error.code === 'EACCES' ? 'Make it executable' : 'Install imsg'
    throw new Error(`"${cliPath}" could not be started (${error.code}). ${hint}, or set cliPath.`)
  })
  let notify: Parameters<Imsg['listen']>[0] = () => undefined
  const lines = createInterface({ input: child.stdout })
  // Whoever waits for an answer learns of the end.
  for (const source of [child, child.stdin, child.stdout, lines]) source.on('error', () => undefined)
  lines.on('line', (line) => {
    const message = fieldsOfJson(line)
    if (typeof message['method'] === 'string') notify(message['method'], message['params'])
    else if (!calls.settle(message)) log.debug({}, 'line of imsg ignored: it has an unknown shape')
  })
  void ended.then((reason) =>
    calls.end(new Error(`${reason} before it answered. Run "${cliPath} rpc" in a terminal to see why.`)),
  )

  /** Also reaches the processes that a script named by `cliPath` has started. */
  function kill(signal: NodeJS.Signals): void {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // It has ended.
    }
  }

  return {
    call: calls.call,
    listen: (listener) => void (notify = listener),
    ended,
    async close() {
      calls.end(new Error('imsg was closed before it answered'))
      child.stdin.end()
      kill('SIGTERM')
      const grace = new AbortController()
      await Promise.race([ended, delay(graceMs, undefined, { signal: grace.signal }).catch(() => undefined)])
      grace.abort()
      kill('SIGKILL')
      await ended
    },
  }
}

/** The calls that wait for an answer, by id. */
function createCalls(write: (line: string) => void) {
  const waiting = new Map<unknown, { method: string; answered: PromiseWithResolvers<unknown> }>()
  let lastId = 0
  let hasEnded = false
  return {
    async call(method: string, params: object): Promise<Readonly<Record<string, unknown>>> {
      if (hasEnded) throw new NotRunningError('imsg is not running')
      const id = ++lastId
      const answered = Promise.withResolvers<unknown>()
      waiting.set(id, { method, answered })
      const timer = setTimeout(() => answered.reject(new Error(`imsg did not answer the call of ${method}`)), answerMs)
      write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
      try {
        return fieldsOf(await answered.promise)
      } finally {
        clearTimeout(timer)
        waiting.delete(id)
      }
    },
    /** @returns whether it was the answer to a call */
    settle({ id, result, error }: Readonly<Record<string, unknown>>): boolean {
      const call = waiting.get(id)
      if (error === undefined) call?.answered.resolve(result)
      else call?.answered.reject(new ImsgError(call.method, error))
      return call !== undefined
    },
    end(reason: Error): void {
      hasEnded = true
      for (const { answered } of waiting.values()) answered.reject(reason)
    },
  }
}
