// The kit: what extensions share, imported from `svc-gateway/kit`. It is no part of the contract: an extension can do
// without it.
export { Alert, countAlerts, labelOf, Labels, listAlerts } from './alerts.ts'
export { type EventText, eventMessage } from './event-message.ts'
export { exactId, exactNumber, type FieldFormat, listAnswers, listFields, valueText } from './fields.ts'
export { plain, refName, shortHash } from './git.ts'
export { entryOf, Maybe } from './payload.ts'
export { clip, line, lines, quote, words } from './text.ts'
export { phoneNumber } from './phone-number.ts'
export { readBytes } from './read-bytes.ts'
export { createTokenVerifier, type RefusedToken, type SignedToken, type TokenRules } from './signed-token.ts'
