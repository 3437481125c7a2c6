// The questions that a channel asks the person who logs in: one at a time, each answered once.
import { randomUUID } from 'node:crypto'
import type { LoginQuestion } from '../../plugin/plugin.ts'

/** A question that waits for its answer. */
export interface PendingQuestion {
  /** An answer names it, so that one that comes late or twice does not answer the next question. */
  id: string
  text: string
  /** The answer must not be shown. */
  secret: boolean
}

interface QuestionsDeps {
  /** Ends the question that waits. */
  signal: AbortSignal
  onQuestion(): void
}

const maxQuestionLength = 500

export function createQuestions({ signal, onQuestion }: QuestionsDeps) {
  let pending: (PendingQuestion & { resolve(answer: string): void }) | undefined
  return {
    async ask(asked: LoginQuestion): Promise<string> {
      const { question: text, secret } = readQuestion(asked)
      signal.throwIfAborted()
      if (pending) throw new Error('login asks a question before the last one is answered')
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      const onAbort = (): void => reject(signal.reason as Error)
      signal.addEventListener('abort', onAbort, { once: true })
      pending = { id: randomUUID(), text, secret, resolve }
      onQuestion()
      try {
        return await promise
      } finally {
        pending = undefined
        signal.removeEventListener('abort', onAbort)
      }
    },
    has: (id: string): boolean => pending?.id === id,
    pending: (): PendingQuestion | undefined =>
      pending && { id: pending.id, text: pending.text, secret: pending.secret },
    answer(text: string): void {
      pending?.resolve(text)
      pending = undefined
    },
  }
}

function readQuestion(asked: unknown): Required<LoginQuestion> {
  const { question, secret = false } = (asked ?? {}) as Partial<LoginQuestion>
  if (typeof question !== 'string' || question.trim() === '' || typeof secret !== 'boolean')
    throw new TypeError('ask needs { question, secret? }, a text and true or false')
  return { question: question.trim().slice(0, maxQuestionLength), secret }
}
