// Ends the calls of a model that is silent for too long: one that does not begin to answer, or stops within its answer.
import type { LanguageModelMiddleware } from 'ai'
import { SilentModelError } from './model-error.ts'

/** What happens to the calls of a model. A call that failed may be repeated after a pause. */
export interface ModelCallObserver {
  started(): void
  /** The model has sent something. */
  received(): void
  /** The model has sent all of its answer. */
  answered(): void
  failed(): void
  /** Aborts when the time limit of the run is reached while the model is silent, with the error of the call. */
  outOfTime: AbortSignal
}

type WrapStream = NonNullable<LanguageModelMiddleware['wrapStream']>
type Part = Awaited<ReturnType<WrapStream>>['stream'] extends ReadableStream<infer P> ? P : never

/** `timeoutMs`: the longest silence; 0 for no limit. */
export function limitSilence(timeoutMs: number, observer: ModelCallObserver = noObserver): LanguageModelMiddleware {
  return {
    // Raw events show that a service is at work although it sends no part of its answer, such as while it thinks.
    transformParams: async ({ params }) => ({ ...params, includeRawChunks: true }),
    wrapStream: async ({ doStream }) => {
      const silence = createSilence(timeoutMs, observer.outOfTime)
      observer.started()
      try {
        const { stream, ...rest } = await silence.wait(doStream())
        return { ...rest, stream: watchStream(stream, { silence, observer }) }
      } catch (error) {
        observer.failed()
        throw error
      }
    },
  }
}

/** Opens a model within the time for which it may be silent. */
export async function limitOpening<T>(
  open: () => Promise<T>,
  timeoutMs: number,
  observer: ModelCallObserver = noObserver,
): Promise<T> {
  observer.started()
  try {
    return await createSilence(timeoutMs, observer.outOfTime).wait(open())
  } catch (error) {
    observer.failed()
    throw error
  }
}

/** For calls whose end is decided elsewhere. */
export const noObserver: ModelCallObserver = {
  started() {},
  received() {},
  answered() {},
  failed() {},
  outOfTime: new AbortController().signal,
}

interface Watch {
  silence: Silence
  observer: ModelCallObserver
}

/** Reads only when it is read from, so that a slow reader does not count as a silent model. */
function watchStream(stream: ReadableStream<Part>, { silence, observer }: Watch): ReadableStream<Part> {
  const reader = stream.getReader()
  const readNext = async (): Promise<Part | undefined> => {
    for (;;) {
      const { done, value } = await silence.wait(reader.read())
      if (done) return undefined
      // The library sends this part itself, before the model has sent anything.
      if (value.type === 'stream-start') return value
      silence.end()
      observer.received()
      if (value.type !== 'raw') return value
    }
  }
  return new ReadableStream({
    pull: async (controller) => {
      const part = await readNext()
      if (part === undefined) return controller.close()
      if (part.type === 'finish' && part.finishReason.unified !== 'error') observer.answered()
      controller.enqueue(part)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

interface Silence {
  /** Settles as the work does, or rejects when the silence has lasted too long. */
  wait<T>(work: PromiseLike<T>): Promise<T>
  /** The next wait begins a new silence. */
  end(): void
}

function createSilence(timeoutMs: number, outOfTime: AbortSignal): Silence {
  let until: number | undefined
  return {
    wait: async (work) => {
      const { promise, reject } = Promise.withResolvers<never>()
      const onTimeout = () => reject(new SilentModelError('was silent for longer than its firstTokenTimeout'))
      const onOutOfTime = () => reject(outOfTime.reason)
      until ??= performance.now() + timeoutMs
      const timer = timeoutMs > 0 ? setTimeout(onTimeout, until - performance.now()) : undefined
      if (outOfTime.aborted) onOutOfTime()
      else outOfTime.addEventListener('abort', onOutOfTime, { once: true })
      try {
        return await Promise.race([work, promise])
      } finally {
        clearTimeout(timer)
        outOfTime.removeEventListener('abort', onOutOfTime)
      }
    },
    end: () => {
      until = undefined
    },
  }
}
