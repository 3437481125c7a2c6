// A double of Google's Gemini API.
import { type Answer, dataEvent, splitText, startWire, textOf, type Wire } from './wire.ts'

export const startGoogle = (): Promise<Wire> =>
  startWire({ path: /^\/v1beta\/models\/[\w.-]+:streamGenerateContent\?alt=sse$/, stream: contentStream })

/** Text only, because tests check the requests. */
function contentStream(answer: Answer) {
  const chunk = (candidate: object, more: object = {}) =>
    dataEvent({ candidates: [{ index: 0, ...candidate }], ...more })
  const usageMetadata = {
    promptTokenCount: 50,
    cachedContentTokenCount: 10,
    candidatesTokenCount: 15,
    thoughtsTokenCount: 5,
    totalTokenCount: 70,
  }
  return {
    events: splitText(textOf(answer)).map((text) => chunk({ content: { role: 'model', parts: [{ text }] } })),
    end: [chunk({ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP' }, { usageMetadata })],
  }
}
