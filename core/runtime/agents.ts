// Builds the configured agents, their models, and the resolver for the recipients of replies.
import { createAgents } from '../agents/agents.ts'
import { createModels } from '../agents/models.ts'
import { createRecipients } from '../delivery/recipient.ts'
import type { BuildContext } from './build-context.ts'

export type AgentArea = ReturnType<typeof buildAgents>

export function buildAgents({ config, services }: BuildContext) {
  const { environment, logs, delivery } = services
  const { providers, channels } = environment.extensions
  const agents = createAgents(config, environment.dir)
  const models = createModels({ config, providers, log: logs.logFor('agents') })
  const { mainSession } = agents.default
  const recipients = createRecipients({
    routes: delivery.replyRoutes,
    channels: config.channels,
    loaded: channels,
    mainSession,
    fallbackChannel: config.session.fallbackChannel,
  })
  // Read while the rest is built: at the start the store is still being opened.
  const routesRead = delivery.replyRoutes.watch(mainSession)
  routesRead.catch(() => undefined)
  return { agents, models, recipients, routesRead }
}
