// What Meta must know before messages go either way: the number is registered, and the app subscribed to its account.
import { AuthError, type ChannelContext, type LoginContext, type LoginStep } from 'svc-gateway/plugin'
import { fieldsOf, listOf, textOf } from 'svc-gateway/kit'
import { type CloudApi, createCloudApi, readApiError } from './cloud-api.ts'
import { probe } from './cloud-probe.ts'
import { type CloudConfig, loginCommand } from './config.ts'

/** What Meta says of it; undefined: Meta does not say it to this token. */
interface Setup {
  isRegistered?: boolean | undefined
  isSubscribed?: boolean | undefined
  /** The id of the WhatsApp Business account. */
  account?: string | undefined
}

/** Without either, the account would be connected, and nothing would come or go. */
export async function checkSetup(config: CloudConfig, api: CloudApi, context: ChannelContext): Promise<void> {
  const { isRegistered, isSubscribed } = await readSetup(config, api)
  const problems = [
    ...(isRegistered === false ? ['the phone number is not registered, so nothing can be sent'] : []),
    ...(isSubscribed === false ? ['the app is not subscribed to the WhatsApp account, so no message arrives'] : []),
  ]
  if (problems.length > 0)
    throw new AuthError(`At Meta, ${problems.join(', and ')}. Do it with: ${loginCommand(context.accountId)}`)
  if (isRegistered === undefined || isSubscribed === undefined)
    context.log.warn(
      {},
      'Meta does not say whether the number is registered and the app is subscribed; ' +
        'the access token may lack the permission whatsapp_business_management',
    )
}

/** A token without the permission gets an error, which is no reason not to connect. */
async function readSetup({ phoneNumberId }: CloudConfig, api: CloudApi): Promise<Setup> {
  const number = await read(() => api.get(phoneNumberId, { fields: 'id,status,platform_type,health_status' }))
  if (!number) return {}
  const entities = listOf(fieldsOf(number['health_status']).entities).map(fieldsOf)
  const idOf = (type: string) => textOf(entities.find(({ entity_type: kind }) => kind === type)?.['id'])
  const account = idOf('WABA')
  return { account, isRegistered: isRegistered(number), isSubscribed: await isSubscribed(api, account, idOf('APP')) }
}

type Fields = Readonly<Record<string, unknown>>

async function read(get: () => Promise<Response>): Promise<Fields | undefined> {
  const response = await get().catch(() => undefined)
  return response?.ok ? fieldsOf(await response.json().catch(() => undefined)) : undefined
}

/** A new number is `PENDING`, and on no platform. */
function isRegistered({ status, platform_type: platform }: Fields): boolean | undefined {
  if (typeof status !== 'string' && typeof platform !== 'string') return undefined
  return status !== 'PENDING' && (platform === undefined || platform === 'CLOUD_API')
}

async function isSubscribed(api: CloudApi, account?: string, app?: string): Promise<boolean | undefined> {
  if (account === undefined || app === undefined) return undefined
  const answer = await read(() => api.get(account, { edge: 'subscribed_apps' }))
  if (!Array.isArray(answer?.['data'])) return undefined
  return answer['data'].some((item) => fieldsOf(fieldsOf(item)['whatsapp_business_api_data'])['id'] === app)
}

/** Registers the number with the PIN that a person enters, and subscribes the app, whichever is missing. */
// eslint-disable-next-line require-yield -- it has nothing to show, and only asks
export async function* setUpCloud(config: CloudConfig, context: LoginContext): AsyncIterable<LoginStep> {
  const api = createCloudApi(config, context.signal)
  await probe(config, api)
  const setup = await readSetup(config, api)
  if (setup.isRegistered === false) await register(api, context)
  if (setup.isSubscribed === true) return
  if (setup.account === undefined)
    throw new Error(
      'Meta does not say to which WhatsApp account the number belongs: ' +
        'give the access token the permission whatsapp_business_management.',
    )
  const response = await api.post('subscribed_apps', {}, setup.account)
  if (!response.ok) throw new Error(`The app could not be subscribed. ${(await readApiError(response)).detail}`)
}

const pinQuestion =
  'The six-digit PIN of the phone number. If the number has none yet, choose one and keep it: Meta asks for it when ' +
  'the number is registered again.'

/** Meta locks a number after ten attempts in three days. */
const maxAttempts = 3

async function register(api: CloudApi, { ask }: LoginContext): Promise<void> {
  let question = pinQuestion
  for (let attempt = 1; ;) {
    const pin = (await ask({ question, secret: true })).trim()
    question = `A PIN has six digits. ${pinQuestion}`
    if (!/^\d{6}$/.test(pin)) continue
    const response = await api.post('register', { messaging_product: 'whatsapp', pin })
    if (response.ok) return
    const { code, detail } = await readApiError(response)
    if (code !== wrongPin || attempt++ === maxAttempts)
      throw new Error(`The phone number could not be registered. ${detail}`)
    question = `${detail} ${pinQuestion}`
  }
}

const wrongPin = 133_005
