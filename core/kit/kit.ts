// The kit: what extensions share, imported from `svc-gateway/kit`. It is no part of the contract: an extension can do
// without it.
export { createAlbums, joinMessages, type ReceivePart } from './albums.ts'
export { Alert, alertGroup, alertNames, countAlerts, labelOf, Labels, listAlerts } from './alerts.ts'
export { type Cache, createCache, keepLatest } from './cache.ts'
export { nameOfFile, parseCount, parseJson, parseTime, parseWhole, quoteWord, readBytesOf } from './command-input.ts'
export { describeStep, formatMs, type RunStep } from './describe-step.ts'
export { escapeForTerminal, escapeInLine } from './escape-for-terminal.ts'
export { type CurlProposal, proposeMapping } from './curl/propose.ts'
export { type CurlRequest, nameOfCurl, readCurl } from './curl/read-curl.ts'
export { type EventText, eventMessage } from './event-message.ts'
export { exactId, exactNumber, type FieldFormat, listAnswers, listFields, valueText } from './fields.ts'
export { formatUsd } from './format-usd.ts'
export {
  describeRelease,
  type NamedRepository,
  plain,
  type Release,
  refName,
  repositoryPath,
  shortHash,
} from './git.ts'
export { defineHostedProvider, type HostedConfig, type HostedService, RequestHeaders } from './hosted-provider.ts'
export { entryOf, Maybe } from './payload.ts'
export { clip, line, lines, quote, words } from './text.ts'
export { createMatcher } from './matcher.ts'
export { fetchFile, type FileSource } from './fetch-file.ts'
export { mediaTypeOf } from './media-type.ts'
export { phoneNumber } from './phone-number.ts'
export { readBytes } from './read-bytes.ts'
export { shortenRepeatedQuotes } from './repeated-quotes.ts'
export { createTokenVerifier, type RefusedToken, type SignedToken, type TokenRules } from './signed-token.ts'
export { type Deadline, withDeadline } from '../deadline.ts'
export { createSerialQueue, type SerialQueue } from '../serial-queue.ts'
export { createSupervisor, type Supervisor, type SupervisorOptions } from '../reconnect.ts'
export { connectError, connectStatusError, type ErrorAnswer, type Service } from './connect-error.ts'
export { readHtml } from './read-html.ts'
export { resultOfError, resultOfResponse } from './send-result.ts'
export { createStreamFetch, type RepairEvent, UnexpectedAnswerError } from './stream-fetch.ts'
export { showArgs, showText } from './show-json.ts'
export { isSecretName } from './secret-names.ts'
export { countOf, fieldsOf, fieldsOfJson, listOf, textOf } from './shapes.ts'
