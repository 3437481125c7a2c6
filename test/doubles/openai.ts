// Doubles of OpenAI's APIs: chat completions, which many servers support, and responses, which only OpenAI does.
import {
  type Answer,
  argumentsOf,
  dataEvent,
  type Ending,
  endingOf,
  namedEvent,
  splitText,
  startWire,
  textOf,
  textParts,
  type Wire,
  type WireRequest,
} from './wire.ts'

export const startOpenAiChat = (): Promise<Wire> =>
  startWire({ path: /^\/v1\/(?:chat\/completions|models)$/, stream: chatStream, whole: wholeChat })

function wholeChat(answer: Answer, { body }: WireRequest) {
  const isCall = 'tool' in answer
  const call = isCall && {
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: answer.tool, arguments: argumentsOf(answer) } }],
  }
  const message = { role: 'assistant', content: isCall ? null : textOf(answer), ...call }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: body['model'],
    choices: [{ index: 0, message, finish_reason: isCall ? 'tool_calls' : 'stop' }],
    usage: { prompt_tokens: 50, completion_tokens: 20, total_tokens: 70 },
  }
}

function chatStream(answer: Answer, request: WireRequest) {
  const chunk = (delta: object, finish: string | null = null) =>
    dataEvent({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: request.body['model'],
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
  const usage = {
    prompt_tokens: 50,
    completion_tokens: 20,
    total_tokens: 70,
    prompt_tokens_details: { cached_tokens: 10 },
    completion_tokens_details: { reasoning_tokens: 5 },
  }
  const last = dataEvent({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: request.body['model'],
    choices: [],
    usage,
  })
  const finish = (reason: string) => [chunk({}, reason), last, 'data: [DONE]\n\n']
  if (!('tool' in answer) && !('calls' in answer))
    return {
      events: textParts(answer).map((content) => chunk({ role: 'assistant', content })),
      end: finish({ cut: 'length', filtered: 'content_filter', none: 'stop' }[endingOf(answer) ?? 'none']),
    }
  const calls = 'calls' in answer ? answer.calls : [answer]
  const said = textOf(answer) === '' ? [] : [chunk({ role: 'assistant', content: textOf(answer) })]
  const events = calls.flatMap((one, index) => {
    const call = (fields: object) => chunk({ tool_calls: [{ index, ...fields }] })
    const id = 'id' in one && one.id !== undefined ? one.id : `call_${index + 1}`
    const head = call({ id, type: 'function', function: { name: one.tool, arguments: '' } })
    return [head].concat(splitText(argumentsOf(one)).map((text) => call({ function: { arguments: text } })))
  })
  return { events: [...said, ...events], end: finish('tool_calls') }
}

export const startOpenAiResponses = (): Promise<Wire> =>
  startWire({ path: /^\/v1\/(?:responses|models)$/, stream: responsesStream, whole: wholeResponse })

const messageItem = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})

const callItem = (answer: Extract<Answer, { tool: string }>) => ({
  id: 'fc_1',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_1',
  name: answer.tool,
  arguments: argumentsOf(answer),
})

const itemOf = (answer: Answer) => ('tool' in answer ? callItem(answer) : messageItem(textOf(answer)))

const responseOf = (answer: Answer, { body }: WireRequest) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: body['model'],
  output: [itemOf(answer)],
  service_tier: null,
})

const responseUsage = {
  input_tokens: 50,
  input_tokens_details: { cached_tokens: 10 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
}

const wholeResponse = (answer: Answer, request: WireRequest) => ({
  ...responseOf(answer, request),
  error: null,
  usage: responseUsage,
  incomplete_details: null,
})

function responsesStream(answer: Answer, request: WireRequest) {
  if ('tool' in answer) return responsesCall(answer, request)
  const text = textOf(answer)
  const item = messageItem(text)
  const response = responseOf(answer, request)
  const delta = {
    type: 'response.output_text.delta',
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    logprobs: null,
  }
  return {
    events: [
      namedEvent({ type: 'response.created', response } as { type: string }),
      namedEvent({
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, status: 'in_progress', content: [] },
      } as { type: string }),
      ...textParts(answer).map((part) => namedEvent({ ...delta, delta: part } as { type: string })),
      namedEvent({ type: 'response.output_item.done', output_index: 0, item } as { type: string }),
    ],
    end: [completed(response, endingOf(answer))],
  }
}

const event = (type: string, fields: object) => namedEvent({ type, ...fields })

function completed(response: object, ending?: Ending) {
  const reason = ending && { cut: 'max_output_tokens', filtered: 'content_filter' }[ending]
  const details = { usage: responseUsage, incomplete_details: reason ? { reason } : null }
  return event(reason ? 'response.incomplete' : 'response.completed', { response: { ...response, ...details } })
}

function responsesCall(answer: Extract<Answer, { tool: string }>, request: WireRequest) {
  const item = callItem(answer)
  const response = responseOf(answer, request)
  const place = { item_id: item.id, output_index: 0 }
  return {
    events: [
      event('response.created', { response }),
      event('response.output_item.added', { output_index: 0, item: { ...item, arguments: '', status: 'in_progress' } }),
      ...splitText(item.arguments).map((delta) => event('response.function_call_arguments.delta', { ...place, delta })),
      event('response.output_item.done', { output_index: 0, item }),
    ],
    end: [completed(response)],
  }
}
