// A double of Google's Gemini API.
import { type Answer, argumentsOf, dataEvent, splitText, startWire, textOf, type Wire } from './wire.ts'

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
    ? [{ functionCall: { name: answer.tool, args: JSON.parse(argumentsOf(answer)) as unknown } }]
    : splitText(textOf(answer)).map((text) => ({ text }))

const wholeContent = (answer: Answer) => ({
  candidates: [{ index: 0, content: { role: 'model', parts: partsOf(answer) }, finishReason: 'STOP' }],
  usageMetadata,
})

function contentStream(answer: Answer) {
  const chunk = (candidate: object, more: object = {}) =>
    dataEvent({ candidates: [{ index: 0, ...candidate }], ...more })
  return {
    events: partsOf(answer).map((part) => chunk({ content: { role: 'model', parts: [part] } })),
    end: [chunk({ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP' }, { usageMetadata })],
  }
}
