// A double of Anthropic's Messages API.
import {
  type Answer,
  argumentsOf,
  namedEvent,
  splitText,
  startWire,
  textOf,
  type Wire,
  type WireRequest,
} from './wire.ts'

export const startAnthropic = (): Promise<Wire> =>
  startWire({ path: /^\/v1\/messages$/, stream: messagesStream, whole: wholeMessage })

function wholeMessage(answer: Answer, { body }: WireRequest) {
  const isCall = 'tool' in answer
  const content = isCall
    ? { type: 'tool_use', id: 'toolu_1', name: answer.tool, input: JSON.parse(argumentsOf(answer)) as unknown }
    : { type: 'text', text: textOf(answer) }
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: body['model'],
    content: [content],
    stop_reason: isCall ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 50, output_tokens: 20 },
  }
}

interface Event {
  type: string
  [field: string]: unknown
}

function messagesStream(answer: Answer, request: WireRequest) {
  const events = [start(request), ...blocks(answer).flatMap(blockEvents)]
  const stopReason = 'tool' in answer ? 'tool_use' : 'end_turn'
  const end = [
    { type: 'message_delta', delta: { stop_reason: stopReason, stop_sequence: null }, usage: { output_tokens: 20 } },
    { type: 'message_stop' },
  ]
  return { events: events.map(namedEvent), end: end.map(namedEvent) }
}

function start({ body }: WireRequest): Event {
  const usage = { input_tokens: 50, output_tokens: 1, cache_read_input_tokens: 10, cache_creation_input_tokens: 0 }
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: body['model'],
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  }
  return { type: 'message_start', message }
}

interface Block {
  start: object
  replyStreams: object[]
}

function blocks(answer: Answer): Block[] {
  if ('tool' in answer) {
    const start = { type: 'tool_use', id: answer.id ?? 'toolu_1', name: answer.tool, input: {} }
    return [
      {
        start,
        replyStreams: splitText(argumentsOf(answer)).map((text) => ({ type: 'input_json_delta', partial_json: text })),
      },
    ]
  }
  const thinking = 'thinking' in answer && answer.thinking
  return [
    ...(thinking
      ? [
          {
            start: { type: 'thinking', thinking: '', signature: '' },
            replyStreams: [
              { type: 'thinking_delta', thinking },
              { type: 'signature_delta', signature: 'c2ln' },
            ],
          },
        ]
      : []),
    {
      start: { type: 'text', text: '' },
      replyStreams: splitText(textOf(answer)).map((text) => ({ type: 'text_delta', text })),
    },
  ]
}

function blockEvents({ start, replyStreams }: Block, index: number): Event[] {
  return [
    { type: 'content_block_start', index, content_block: start },
    ...replyStreams.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}
