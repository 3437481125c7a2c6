// All JSON endpoints of the control API.
import { budgetEndpoints } from './budgets.ts'
import { approvalEndpoints } from './approvals.ts'
import { auditEndpoints } from './audit.ts'
import { channelEndpoints } from './channels.ts'
import { clientEndpoints } from './clients.ts'
import { configEndpoints } from './config.ts'
import { requestEndpoints } from './requests.ts'
import type { Endpoint } from './endpoint.ts'
import { gatewayEndpoints } from './gateways.ts'
import { hookEndpoints } from './hooks.ts'
import { meEndpoints } from './me.ts'
import { outboxEndpoints } from './outbox.ts'
import { pageEndpoints } from './page/endpoints.ts'
import { pairingEndpoints } from './pairings.ts'
import { extensionEndpoints } from './extensions.ts'
import { runEndpoints } from './runs.ts'
import { scheduleEndpoints } from './schedules.ts'
import { sessionEndpoints } from './sessions.ts'
import { usageEndpoints } from './usage.ts'
import { workbenchEndpoints } from './workbench.ts'

const groups = [
  meEndpoints,
  runEndpoints,
  approvalEndpoints,
  requestEndpoints,
  hookEndpoints,
  workbenchEndpoints,
  scheduleEndpoints,
  budgetEndpoints,
  sessionEndpoints,
  usageEndpoints,
  outboxEndpoints,
  pairingEndpoints,
  extensionEndpoints,
  channelEndpoints,
  configEndpoints,
  gatewayEndpoints,
  clientEndpoints,
  auditEndpoints,
  pageEndpoints,
]

/** What all of them need: TypeScript infers the intersection of the parameters. */
type EndpointDeps = (typeof groups)[number] extends (deps: infer Deps) => Endpoint[] ? Deps : never

export const createEndpoints = (deps: EndpointDeps): Endpoint[] => groups.flatMap((create) => create(deps))
