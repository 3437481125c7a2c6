// Runs the functions of a scheme. If one throws, exceeds its time limit or returns nonsense, nothing is accepted.
import { withDeadline } from '../../deadline.ts'
import { describeError, GatewayError } from '../../errors.ts'
import type { Log, Scheme, SchemeReply, Verdict } from '../../plugin/plugin.ts'
import { jsonReply, plainText, rejected, type ServiceReply } from './verifier.ts'

export interface SchemeRunner {
  /** Returns what the function returns. Throws `scheme_failed` if it throws. */
  run<Result>(work: () => Result): Result
  /** Runs a function of `answerHandshake`, `acknowledge` or `createChallenge`. */
  reply(work: () => SchemeReply | undefined): ServiceReply | undefined
  /** Runs a function that verifies. `secretCount` is the number of secrets that it gets. */
  verify(work: (signal: AbortSignal) => Verdict | Promise<Verdict>, secretCount: number): Promise<Verdict>
}

const limitMs = 10_000

export function createSchemeRunner({ name }: Pick<Scheme, 'name'>, log: Log): SchemeRunner {
  /** The text of the error is not logged, because it may quote a secret or the request. */
  function fail(error: unknown): never {
    if (error instanceof GatewayError) throw error
    log.error({ scheme: name, ...describeError(error) }, 'the scheme failed, so the request was refused')
    throw new GatewayError('scheme_failed', undefined, { cause: error })
  }

  function run<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      return fail(error)
    }
  }

  return {
    run,
    reply: (work) => run(() => toReply(work())),
    async verify(work, secretCount) {
      try {
        return checkVerdict(await withDeadline({ ms: limitMs, reason: createTimeout }, work), secretCount)
      } catch (error) {
        return fail(error)
      }
    },
  }
}

/** The log shows the class of an error only. */
class SchemeTimeout extends Error {}
class InvalidVerdict extends Error {}
class InvalidReply extends Error {}

const createTimeout = (): Error => new SchemeTimeout(`The scheme did not answer within ${limitMs} ms.`)

function toReply(value: unknown): ServiceReply | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string') return plainText(value)
  if (typeof value !== 'object' || value === null || value instanceof Promise)
    throw new InvalidReply('A reply must be a text or an object.')
  return jsonReply(value)
}

const maxReasonLength = 200

function checkVerdict(value: unknown, secretCount: number): Verdict {
  const { ok, secretIndex, id, reason } = Object(value) as Record<string, unknown>
  if (ok === false) return rejected(typeof reason === 'string' ? reason.slice(0, maxReasonLength) : 'no reason given')
  const isIndex = Number.isInteger(secretIndex) && (secretIndex as number) >= 0 && (secretIndex as number) < secretCount
  if (ok !== true || !(secretIndex === undefined || isIndex) || !(id === undefined || typeof id === 'string'))
    throw new InvalidVerdict('A verdict must be { ok: true, secretIndex?, id? } or { ok: false, reason }.')
  return {
    ok,
    ...(secretIndex !== undefined && { secretIndex: secretIndex as number }),
    ...(id !== undefined && id.trim() !== '' && { id: id.trim() }),
  }
}
