// The part of the double of Google that is Pub/Sub: topics, their policy, subscriptions, pulls.
import { fault, type Reply, type Routes } from './routes.ts'

export const topic = 'projects/p/topics/gmail'
export const subscription = 'projects/p/subscriptions/gmail'

interface Policy {
  etag?: string
  bindings?: { role: string; members: string[] }[]
}

interface Subscription {
  topic: string
  pushConfig?: { pushEndpoint?: string }
}

const forbidden = fault(403, 'User not authorized to perform this action.')
const conflict = fault(409, 'Resource already exists in the project.')

/** @param change what a notification says */
export function createPubSub(change: () => object) {
  const topics = new Map<string, Policy>()
  const subscriptions = new Map<string, Subscription>()
  const waiting = new Map<string, object>()
  let published = 0

  const pubsub = {
    /** Whether the account may create topics and subscriptions. */
    mayAdminister: true,
    /** Whether Gmail may publish, if the topic was not created with the API. */
    mayPublish: true,
    /** Whether the subscription exists from which the gateway pulls. */
    hasSubscription: true,
    subscriptions,
    /** The notifications that were neither acknowledged nor pulled. */
    get unacknowledged() {
      return waiting.size
    },
    createNotification: () => ({
      data: Buffer.from(JSON.stringify(change())).toString('base64'),
      messageId: String(9000 + ++published),
      publishTime: new Date().toISOString(),
    }),
    /** Publishes that the mailbox has changed, for pulls. */
    publish: () => void waiting.set(`ack-${published}`, pubsub.createNotification()),
    /** Whether Gmail may publish to the topic. */
    isOpenToGmail: (name: string) =>
      topics.get(name)?.bindings?.some(({ members }) => members.join().includes('gmail-api-push')) ?? pubsub.mayPublish,
  }

  const administer = (step: () => Reply): Reply => (pubsub.mayAdminister ? step() : forbidden)
  const create = (name: string, add: () => void, isKnown: boolean): Reply =>
    administer(() => (isKnown ? conflict : (add(), { body: { name } })))

  const routes: Routes = {
    [`PUT /v1/${topic}`]: () => create(topic, () => topics.set(topic, { etag: 'e1' }), topics.has(topic)),
    [`GET /v1/${topic}:getIamPolicy`]: () => administer(() => ({ body: topics.get(topic) ?? { etag: 'e1' } })),
    [`POST /v1/${topic}:setIamPolicy`]: ({ body }) => {
      topics.set(topic, (JSON.parse(body) as { policy: Policy }).policy)
      return {}
    },
    ...subscriptionRoutes(subscription),
    ...subscriptionRoutes(`${subscription}-pull`),
    ...subscriptionRoutes(`${subscription}-push`),
  }

  function subscriptionRoutes(name: string): Routes {
    return {
      [`PUT /v1/${name}`]: ({ body }) =>
        create(name, () => subscriptions.set(name, JSON.parse(body) as Subscription), subscriptions.has(name)),
      [`POST /v1/${name}:pull`]: () =>
        pubsub.hasSubscription
          ? { body: { receivedMessages: [...waiting].map(([ackId, message]) => ({ ackId, message })) } }
          : fault(404, `Resource not found (resource=${name}).`),
      [`POST /v1/${name}:acknowledge`]: ({ body }) => {
        for (const ackId of (JSON.parse(body) as { ackIds: string[] }).ackIds) waiting.delete(ackId)
        return {}
      },
      [`GET /v1/${name}`]: () => ({ body: subscriptions.get(name) }),
      [`POST /v1/${name}:modifyPushConfig`]: ({ body }) => {
        Object.assign(subscriptions.get(name) ?? {}, JSON.parse(body))
        return {}
      },
    }
  }
  return { pubsub, routes }
}
