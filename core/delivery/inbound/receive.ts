// What a channel calls for each message of its platform: waits while the message cannot be stored, and drops what can
// never be stored.
import { setTimeout as delay } from 'node:timers/promises'
import { describeError, GatewayError } from '../../errors.ts'
import { createOutage } from '../../outage.ts'
import { type ChannelContext, InputError, type InboundMessage, type Log } from '../../plugin/plugin.ts'
import { readInboundMessage } from './message.ts'

type Result = Awaited<ReturnType<ChannelContext['receive']>>

interface ReceiveDeps {
  /** Tries once to store a message. */
  accept(message: InboundMessage): Promise<Result>
  /** Aborts when the connection ends. */
  signal: AbortSignal
  /** Names the account in the log. */
  fields: object
  log: Log
}

const firstRetryMs = 100
const longestRetryMs = 5_000
/** So often a message may fail although the store is available. Then it is dropped, because others wait for it. */
const maxFaults = 5

/** Creates the `receive` of one connection. */
export function createReceive({ accept, signal, fields, log }: ReceiveDeps): ChannelContext['receive'] {
  const outage = createOutage(log, {
    level: 'warn',
    failed: 'a message could not be stored; it is tried again',
    worked: 'messages are stored again',
  })
  /** Settles when the messages that wait are stored or given up. Never rejects. */
  let waiting: Promise<unknown> = Promise.resolve()

  function drop(reason: string): 'ignored' {
    log.error({ ...fields, reason }, 'a message was dropped, because it cannot be stored')
    return 'ignored'
  }

  /** Keeps the order: a message that arrives later is not tried before those that wait. */
  async function untilNoneWaits(): Promise<void> {
    for (let last; last !== waiting;) {
      last = waiting
      await last
    }
  }

  /** Rejects only with the reason of `stop`. */
  async function store(message: InboundMessage, stop: AbortSignal): Promise<Result> {
    let faults = 0
    async function attempt(): Promise<Result | undefined> {
      try {
        const result = await accept(message)
        outage.worked(fields)
        return result
      } catch (error) {
        outage.failed(error, fields)
        return isTemporary(error) || ++faults < maxFaults ? undefined : drop(describeError(error).reason)
      }
    }
    async function repeat(): Promise<Result> {
      for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, longestRetryMs)) {
        await delay(waitMs, undefined, { signal: stop, ref: false }).catch(() => undefined)
        stop.throwIfAborted()
        const result = await attempt()
        if (result) return result
      }
    }
    await untilNoneWaits()
    const result = await attempt()
    if (result) return result
    const repeated = waiting.then(repeat)
    waiting = repeated.catch(() => undefined)
    return await repeated
  }

  return async (received, options) => {
    let message: InboundMessage
    try {
      message = readInboundMessage(received)
    } catch (error) {
      return drop(error instanceof InputError ? error.message : describeError(error).reason)
    }
    return await store(message, options?.signal ? AbortSignal.any([signal, options.signal]) : signal)
  }
}

/** The store is away, or too many runs are waiting. */
const isTemporary = (error: unknown): boolean => error instanceof GatewayError && error.status === 503
