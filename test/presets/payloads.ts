// Handwritten payloads after the documentation of each service: accepted, skipped and invalid ones.
import { alertmanager } from './payloads/alertmanager.ts'
import { github } from './payloads/github.ts'
import { gitlab } from './payloads/gitlab.ts'
import { gmail } from './payloads/gmail.ts'
import { grafana } from './payloads/grafana.ts'
import { homeAssistant } from './payloads/home-assistant.ts'
import { linear } from './payloads/linear.ts'
import { pagerduty } from './payloads/pagerduty.ts'
import { sentry } from './payloads/sentry.ts'
import { slack } from './payloads/slack.ts'
import { standardWebhooks } from './payloads/standard-webhooks.ts'
import { stripe } from './payloads/stripe.ts'
import type { Samples } from './sample.ts'

export const payloads: Readonly<Record<string, Samples>> = {
  alertmanager,
  github,
  gitlab,
  gmail,
  grafana,
  linear,
  pagerduty,
  sentry,
  slack,
  stripe,
  'home-assistant': homeAssistant,
  'standard-webhooks': standardWebhooks,
}
