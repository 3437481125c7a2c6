// A model's failure: a sentence that is safe anywhere, and a detail for the run's record alone.
import { GatewayError } from '../errors.ts'

/** Longest detail, in characters. */
const maxDetail = 500

interface ModelErrorOptions {
  /** What must not appear in the detail. */
  secrets: readonly string[]
  /** Instead of the sentence that the cause suggests. */
  sentence?: string | undefined
}

export class ModelError extends GatewayError {
  /** What the provider said, shortened and without secrets. It may hold parts of the prompt: for the run's record only. */
  readonly detail: string

  constructor(cause: unknown, { secrets, sentence }: ModelErrorOptions) {
    const last = lastError(cause)
    super('model_failed', sentence ?? sentenceOf(last), { cause })
    this.detail = scrub(textOf(last), secrets).slice(0, maxDetail).toWellFormed()
  }
}

/** The fields of the model library's errors that matter; read by shape, so that the library need not be loaded to fail. */
interface WireError {
  name?: string
  message?: string
  statusCode?: number
  lastError?: WireError
  cause?: unknown
}

/** After several attempts, the last one tells. */
function lastError(error: unknown): WireError {
  const wire = (error ?? {}) as WireError
  return wire.lastError ?? wire
}

function sentenceOf({ statusCode, name, cause }: WireError): string {
  if (statusCode === 401 || statusCode === 403) return `The model's service refused the credential (${statusCode}); check the apiKey of its provider.`
  if (statusCode === 429) return "The model's service is over its limit (429)."
  if (statusCode !== undefined && statusCode !== 200) return `The model's service answered ${statusCode}.`
  if (name === 'AI_APICallError' && statusCode === undefined) return "The model's service could not be reached."
  if (name === 'AI_LoadAPIKeyError') return 'The model needs an API key; set the apiKey of its provider.'
  return cause instanceof GatewayError ? cause.message : "The model's answer broke off or was not valid."
}

/** Some providers put the service's own error object into the stream, as it came. */
const textOf = (error: WireError): string => (error.message ? [error.name, error.message].filter(Boolean).join(': ') : JSON.stringify(error))

/** Keys by their usual looks, masked ones too: services like to quote the key that they refuse. */
const keyLike = /\b(?:sk|pk|rk|key|gsk|xai|AIza)[-_A-Za-z0-9*.]{8,}|\bBearer\s+\S+/g

function scrub(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text).replace(keyLike, '[secret]')
}
