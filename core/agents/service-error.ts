// Reads what the service of a model said in an error: within a stream, in the body of a response, or in place of an answer.

/** The relevant fields of the model library's errors, read by shape so that the library need not be loaded. */
export interface WireError {
  name?: string
  message?: string
  statusCode?: number
  responseHeaders?: Record<string, string>
  responseBody?: string
  /** What the library could not read: the text, or the value of a JSON text. */
  text?: unknown
  value?: unknown
  /** The error as the service sent it. */
  data?: unknown
  /** Some services send their own errors in the stream. */
  type?: unknown
  code?: unknown
  lastError?: WireError
  cause?: unknown
}

export interface SaidError {
  /** An HTTP status: that of the response, or one within the error. */
  status: number | undefined
  /** The service's own codes and types of errors. */
  codes: string
  /** Its words. */
  text: string
}

const unreadable: ReadonlySet<string | undefined> = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'UnexpectedAnswerError',
])

/** The error about an answer with the status 200 is in its cause. */
export function findAnswerError(error: WireError): WireError {
  const { statusCode, cause } = error
  const isInner =
    (statusCode === 200 || statusCode === undefined) && unreadable.has((cause as WireError | undefined)?.name)
  return isInner ? (cause as WireError) : error
}

/** True if the error is about what a service answered, and not about the request or the provider. */
export const isAboutAnswer = ({ name, message, type }: WireError): boolean =>
  unreadable.has(name) ||
  /^AI_(?:APICall|StreamProvider|InvalidResponseData|EmptyResponseBody)Error$/.test(name ?? '') ||
  (name === undefined && (message !== undefined || type !== undefined))

export function readSaidError(error: WireError): SaidError {
  const { name, statusCode, text, value, data, responseBody } = error
  if (name === 'AI_JSONParseError' || name === 'UnexpectedAnswerError') return readText(String(text))
  if (name === 'AI_TypeValidationError') return readFields([value, ...errorsIn(value)])
  const said = readFields([error, ...errorsIn(error), ...errorsIn(data), ...errorsIn(parse(responseBody))])
  return {
    ...said,
    status: statusCode === undefined || statusCode === 200 ? said.status : statusCode,
    text: [said.text, readPage(responseBody ?? '')].filter(Boolean).join(' '),
  }
}

/** A text that begins like JSON is part of an answer, which may hold anything. */
function readText(answer: string): SaidError {
  const text = answer.replace(/^data:/, '')
  const value = parse(text)
  if (value !== undefined) return readFields([value, ...errorsIn(value)])
  return { status: undefined, codes: '', text: /^\s*[{[]/.test(text) ? '' : readPage(text) }
}

function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}

/** The objects in which services put their errors. */
function errorsIn(value: unknown): unknown[] {
  const { error, response } = fieldsIn(value)
  return [error, fieldsIn(response)['error']].filter((found) => found !== undefined && found !== null)
}

const fieldsIn = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function readFields(objects: readonly unknown[]): SaidError {
  const all = objects.map(fieldsIn)
  const codes = all.flatMap(({ type, code, status }) => [type, code, status])
  const texts = objects.map((object) => (typeof object === 'string' ? object : fieldsIn(object)['message']))
  return {
    status: codes.map(Number).find((code) => Number.isInteger(code) && code >= 400 && code <= 599),
    codes: codes.filter((code) => typeof code === 'string').join(' '),
    text: texts.filter((text) => typeof text === 'string').join(' '),
  }
}

/** The most that is read of a page. */
const maxPageLength = 4_000

/** The words of a text or a web page. */
export const readPage = (text: string): string =>
  text
    .slice(0, maxPageLength)
    .replace(/<[^<>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
