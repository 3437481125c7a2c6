// Handwritten payloads after the documentation of each service: accepted, skipped and invalid ones.
import { alertmanager } from './payloads/alertmanager.ts'
import { bitbucket } from './payloads/bitbucket.ts'
import { circleci } from './payloads/circleci.ts'
import { discordInteractions } from './payloads/discord-interactions.ts'
import { gitea } from './payloads/gitea.ts'
import { github } from './payloads/github.ts'
import { gitlab } from './payloads/gitlab.ts'
import { gmail } from './payloads/gmail.ts'
import { grafana } from './payloads/grafana.ts'
import { homeAssistant } from './payloads/home-assistant.ts'
import { jira } from './payloads/jira.ts'
import { linear } from './payloads/linear.ts'
import { netlify } from './payloads/netlify.ts'
import { opsgenie } from './payloads/opsgenie.ts'
import { pagerduty } from './payloads/pagerduty.ts'
import { sentry } from './payloads/sentry.ts'
import { shopify } from './payloads/shopify.ts'
import { slack } from './payloads/slack.ts'
import { standardWebhooks } from './payloads/standard-webhooks.ts'
import { stripe } from './payloads/stripe.ts'
import { trello } from './payloads/trello.ts'
import { uptimerobot } from './payloads/uptimerobot.ts'
import type { Samples } from './sample.ts'

export const payloads: Readonly<Record<string, Samples>> = {
  alertmanager,
  bitbucket,
  circleci,
  gitea,
  github,
  gitlab,
  gmail,
  grafana,
  jira,
  linear,
  netlify,
  opsgenie,
  pagerduty,
  sentry,
  shopify,
  slack,
  stripe,
  trello,
  uptimerobot,
  'discord-interactions': discordInteractions,
  'home-assistant': homeAssistant,
  'standard-webhooks': standardWebhooks,
}
