// A double of Anthropic's Messages API.
import {
  type Answer,
  argumentsOf,
  endingOf,
  namedEvent,
  splitText,
  startWire,
  textOf,
  textParts,
  type Wire,
  type WireRequest,
} from './wire.ts'

export const startAnthropic = (): Promise<Wire> =>
  startWire({ path: /^\/v1\/messages$/, stream: messagesStream, whole: wholeMessage, refuse })

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
  const ending = { cut: 'max_tokens', filtered: 'refusal', none: 'end_turn' }[endingOf(answer) ?? 'none']
  const stopReason = 'tool' in answer ? 'tool_use' : ending
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
    const said = textOf(answer) === '' ? [] : [textBlock([textOf(answer)])]
    return [
      ...said,
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
    textBlock(textParts(answer)),
  ]
}

const textBlock = (parts: readonly string[]): Block => ({
  start: { type: 'text', text: '' },
  replyStreams: parts.map((text) => ({ type: 'text_delta', text })),
})

function blockEvents({ start, replyStreams }: Block, index: number): Event[] {
  return [
    { type: 'content_block_start', index, content_block: start },
    ...replyStreams.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

interface ContentBlock {
  type: string
  text?: string
  id?: string
  tool_use_id?: string
  name?: string
  content?: string | ContentBlock[]
}

/** What the service refuses in the messages that it is sent. */
function refuse({ body }: WireRequest) {
  const messages = (body['messages'] ?? []) as { role: string; content: string | ContentBlock[] }[]
  const message = findFault(messages.flatMap(({ content }) => toBlocks(content)))
  if (message === undefined) return undefined
  return { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } }
}

const toBlocks = (content: string | ContentBlock[]): ContentBlock[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content

const validId = /^[a-zA-Z0-9_-]+$/

function findFault(blocks: readonly ContentBlock[]): string | undefined {
  const texts = blocks.flatMap((block) => (block.type === 'tool_result' ? toBlocks(block.content ?? []) : [block]))
  if (texts.some(({ type, text }) => type === 'text' && !text?.trim()))
    return 'messages: text content blocks must contain non-whitespace text'
  const uses = blocks.filter(({ type }) => type === 'tool_use')
  if (uses.some(({ id = '' }) => !validId.test(id))) return 'tool_use.id: String should match pattern ^[a-zA-Z0-9_-]+$'
  if (uses.some(({ name = '' }) => !validId.test(name)))
    return 'tool_use.name: String should match pattern ^[a-zA-Z0-9_-]+$'
  const ids = new Set(uses.map(({ id }) => id))
  if (ids.size < uses.length) return 'messages: `tool_use` ids must be unique'
  const results = blocks.filter(({ type }) => type === 'tool_result')
  return results.some(({ tool_use_id: id }) => !ids.has(id)) ? 'unexpected `tool_use_id` found' : undefined
}
