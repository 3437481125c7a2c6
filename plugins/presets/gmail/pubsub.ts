// Creates what Gmail's notifications need in Pub/Sub: a topic, the permission to publish to it, and a subscription.
import { type Google, GoogleError } from './google.ts'

const publisher = { role: 'roles/pubsub.publisher', member: 'serviceAccount:gmail-api-push@system.gserviceaccount.com' }

export interface Push {
  /** The address of the hook. */
  endpoint: string
  /** The service account with which Pub/Sub signs. */
  email: string
}

/** Returns the command that does the step by hand, if the account may not do it. */
type Step = Promise<string | undefined>

export async function createTopic(google: Google, topic: string): Step {
  const isDone = await create(google, topic, {})
  return isDone ? undefined : `gcloud pubsub topics create ${topic}`
}

interface Policy {
  bindings?: { role: string; members: string[] }[]
}

export async function allowGmail(google: Google, topic: string): Step {
  const { role, member } = publisher
  const byHand = `gcloud pubsub topics add-iam-policy-binding ${topic} --member=${member} --role=${role}`
  return await orByHand(byHand, async () => {
    const path = `/v1/${topic}`
    const policy = (await google({ service: 'pubsub', path: `${path}:getIamPolicy` })) as Policy
    const { bindings = [] } = policy
    if (bindings.some((binding) => binding.role === role && binding.members.includes(member))) return
    const body = { policy: { ...policy, bindings: [...bindings, { role, members: [member] }] } }
    await google({ service: 'pubsub', path: `${path}:setIamPolicy`, body })
  })
}

export async function createSubscription(
  google: Google,
  { subscription, topic, push }: { subscription: string; topic: string; push?: Push | undefined },
): Step {
  const oidcToken = push && { serviceAccountEmail: push.email, audience: push.endpoint }
  const isDone = await create(google, subscription, {
    topic,
    ackDeadlineSeconds: 60,
    ...(push && { pushConfig: { pushEndpoint: push.endpoint, oidcToken } }),
  })
  if (isDone) return undefined
  const flags = push && [
    ` --push-endpoint=${push.endpoint}`,
    `--push-auth-service-account=${push.email}`,
    `--push-auth-token-audience=${push.endpoint}`,
  ]
  return `gcloud pubsub subscriptions create ${subscription} --topic=${topic}${flags?.join(' ') ?? ''}`
}

/** False if the account may not create it. */
async function create(google: Google, name: string, body: object): Promise<boolean> {
  const byHand = await orByHand('', async () => {
    try {
      await google({ service: 'pubsub', path: `/v1/${name}`, method: 'PUT', body })
    } catch (error) {
      if (!(error instanceof GoogleError && error.status === 409)) throw error
    }
  })
  return byHand === undefined
}

async function orByHand(command: string, step: () => Promise<void>): Step {
  try {
    await step()
    return undefined
  } catch (error) {
    if (error instanceof GoogleError && error.status === 403) return command
    throw error
  }
}
