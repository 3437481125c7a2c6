// Asks the Cloud API whether the credentials belong to the phone number.
import { connectError, connectStatusError, fieldsOf } from 'svc-gateway/kit'
import { AuthError } from 'svc-gateway/plugin'
import { type CloudApi, defaultRoot, readApiError } from './cloud-api.ts'
import type { CloudConfig } from './config.ts'

/** Rejects as `connect` has to. The error of a limit says how long to wait. */
export async function probe(config: CloudConfig, api: CloudApi): Promise<void> {
  const service = { name: "WhatsApp's Cloud API", url: config.apiRoot ?? defaultRoot, setting: 'apiRoot' }
  const response = await readNumber(config, api).catch((error: unknown) => {
    throw connectError(error, service)
  })
  if (response.ok) return
  const { code, detail, reason, retryAfterMs } = await readApiError(response)
  if (reason === 'auth') throw new AuthError(`Meta refuses the credentials. ${detail}`)
  // An answer without a code of the API may be that of a proxy.
  if (code === undefined) throw connectStatusError(response, service)
  throw Object.assign(new Error(detail), retryAfterMs !== undefined && { retryAfterMs })
}

/** Rejects if another service answers, such as the login page of a network. */
async function readNumber({ phoneNumberId }: CloudConfig, api: CloudApi): Promise<Response> {
  const response = await api.get(phoneNumberId)
  if (response.ok && fieldsOf(await response.json())['id'] !== phoneNumberId) throw new TypeError('the id is missing')
  return response
}
