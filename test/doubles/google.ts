// A double of Google's Gemini API.
import { type Answer, argumentsOf, dataEvent, endingOf, startWire, textOf, textParts, type Wire } from './wire.ts'

export const startGoogle = (): Promise<Wire> =>
  startWire({
    path: /^\/v1beta\/models\/[\w.-]+:(?:streamGenerateContent\?alt=sse|generateContent)$/,
    stream: contentStream,
    whole: wholeContent,
  })

const usageMetadata = {
  promptTokenCount: 50,
  cachedContentTokenCount: 10,
  candidatesTokenCount: 15,
  thoughtsTokenCount: 5,
  totalTokenCount: 70,
}

/** The arguments of a call are an object here, not a text. */
const partsOf = (answer: Answer): object[] =>
  'tool' in answer
    ? [
        ...(textOf(answer) === '' ? [] : [{ text: textOf(answer) }]),
        { functionCall: { name: answer.tool, args: JSON.parse(argumentsOf(answer)) as unknown } },
      ]
    : textParts(answer).map((text) => ({ text }))

const wholeContent = (answer: Answer) => ({
  candidates: [{ index: 0, content: { role: 'model', parts: partsOf(answer) }, finishReason: 'STOP' }],
  usageMetadata,
})

function contentStream(answer: Answer) {
  const chunk = (candidate: object, more: object = {}) =>
    dataEvent({ candidates: [{ index: 0, ...candidate }], ...more })
  const finishReason = { cut: 'MAX_TOKENS', filtered: 'SAFETY', none: 'STOP' }[endingOf(answer) ?? 'none']
  return {
    events: partsOf(answer).map((part) => chunk({ content: { role: 'model', parts: [part] } })),
    end: [chunk({ content: { role: 'model', parts: [{ text: '' }] }, finishReason }, { usageMetadata })],
  }
}
