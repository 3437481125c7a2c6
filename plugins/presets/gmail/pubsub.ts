// Creates what Gmail's notifications need in Pub/Sub: a topic, the permission to publish to it, and a subscription.
import { InputError } from 'svc-gateway/plugin'
import { hasStatus } from './google-error.ts'
import type { Google } from './google.ts'

const publisher = { role: 'roles/pubsub.publisher', member: 'serviceAccount:gmail-api-push@system.gserviceaccount.com' }

export interface Push {
  /** The address of the hook. */
  endpoint: string
  /** The service account with which Pub/Sub signs. */
  email: string
}

/** Returns the command that does the step by hand, if the account may not do it. */
type Step = Promise<string | undefined>

export const createTopic = (google: Google, topic: string): Step =>
  orByHand(`gcloud pubsub topics create ${topic}`, async () => void (await create(google, topic, {})))

/** The command that allows Gmail to publish to the topic. */
export const allowCommand = (topic: string): string =>
  `gcloud pubsub topics add-iam-policy-binding ${topic} --member=${publisher.member} --role=${publisher.role}`

interface Policy {
  bindings?: { role: string; members: string[] }[]
}

export const allowGmail = (google: Google, topic: string): Step =>
  orByHand(allowCommand(topic), async () => {
    const { role, member } = publisher
    const path = `/v1/${topic}`
    const policy = await google.pubsub<Policy>({ method: 'GET', path: `${path}:getIamPolicy` })
    const { bindings = [] } = policy
    if (bindings.some((binding) => binding.role === role && binding.members.includes(member))) return
    const data = { policy: { ...policy, bindings: [...bindings, { role, members: [member] }] } }
    await google.pubsub({ path: `${path}:setIamPolicy`, data })
  })

interface Subscription {
  topic?: string
  pushConfig?: { pushEndpoint?: string; oidcToken?: { serviceAccountEmail?: string; audience?: string } }
}

export function createSubscription(
  google: Google,
  { subscription, topic, push }: { subscription: string; topic: string; push?: Push | undefined },
): Step {
  const oidcToken = push && { serviceAccountEmail: push.email, audience: push.endpoint }
  const pushConfig = push ? { pushEndpoint: push.endpoint, oidcToken } : {}
  const flags = push && [
    ` --push-endpoint=${push.endpoint}`,
    `--push-auth-service-account=${push.email}`,
    `--push-auth-token-audience=${push.endpoint}`,
  ]
  const byHand = `gcloud pubsub subscriptions create ${subscription} --topic=${topic}${flags?.join(' ') ?? ''}`
  return orByHand(byHand, async () => {
    if (await create(google, subscription, { topic, ackDeadlineSeconds: 60, pushConfig })) return
    const path = `/v1/${subscription}`
    const existing = await google.pubsub<Subscription>({ method: 'GET', path })
    if (existing.topic !== topic)
      throw new InputError(
        `${subscription} belongs to another topic; run: gcloud pubsub subscriptions delete ${subscription}`,
      )
    // The public address may have changed.
    await google.pubsub({ path: `${path}:modifyPushConfig`, data: { pushConfig } })
  })
}

/** Pulls once. A notification that comes is not confirmed, so the gateway gets it later. */
export const checkPull = (google: Google, { subscription, member }: { subscription: string; member: string }): Step => {
  const role = 'roles/pubsub.subscriber'
  return orByHand(
    `gcloud pubsub subscriptions add-iam-policy-binding ${subscription} --member=${member} --role=${role}`,
    async () =>
      void (await google.pubsub({
        path: `/v1/${subscription}:pull`,
        data: { maxMessages: 1, returnImmediately: true },
      })),
  )
}

/** False if it existed before. */
async function create(google: Google, name: string, data: object): Promise<boolean> {
  try {
    await google.pubsub({ method: 'PUT', path: `/v1/${name}`, data })
    return true
  } catch (error) {
    if (hasStatus(error, 409)) return false
    throw error
  }
}

async function orByHand(command: string, step: () => Promise<void>): Step {
  try {
    await step()
    return undefined
  } catch (error) {
    if (hasStatus(error, 403)) return command
    throw error
  }
}
