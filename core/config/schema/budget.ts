// Budgets: limits of runs, tokens and money in a window, at the top of the configuration and in its sections, and whom
// they alert.
import { OptionalText, Text } from '../../field-schemas.ts'
import { type Static, Type } from '../../typebox.ts'
import { Duration, TimeZone } from './formats.ts'

const BudgetLimit = Type.Object(
  {
    per: Duration(
      'period',
      'The length of the window: whole days, such as "1d" or "30d", or less than a day in steps of five minutes, ' +
        'such as "1h".',
    ),
    runs: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Maximum number of runs in the window.' }),
    ),
    tokens: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000_000,
        description: 'Maximum number of tokens in the window, input and output together.',
      }),
    ),
    usd: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 1_000_000,
        description: 'Maximum cost in the window, in US dollars.',
      }),
    ),
    onLimit: Type.Enum(['refuse', 'wait'], {
      default: 'refuse',
      description:
        'What happens to webhooks at the limit: they get 429, or they are accepted and wait until the next window.',
    }),
  },
  { additionalProperties: false, description: 'One limit. What it does not set is unlimited.' },
)

const limitsOf = (description: string) => Type.Array(BudgetLimit, { maxItems: 20, description })

export const budgetKey = (what: string) =>
  Type.Optional(limitsOf(`Limits of what ${what} may use in a window. All budgets that apply hold together.`))

export type BudgetConfig = Static<typeof BudgetLimit>

/** The budget of everything: its limits, or an object with its limits and the time zone of all budgets. */
export type BudgetSection = BudgetConfig[] | { timezone?: string; limits?: BudgetConfig[] }

export const BudgetSection = Type.Optional(
  Type.Unsafe<BudgetSection>({
    type: ['array', 'object'],
    items: BudgetLimit,
    maxItems: 20,
    properties: {
      timezone: TimeZone(
        'IANA time zone, such as "Europe/Berlin", in whose midnight windows of days begin. Default: the one of the ' +
          'machine.',
      ),
      limits: limitsOf('Limits of what all runs together may use in a window.'),
    },
    additionalProperties: false,
    description:
      'The budget of everything: a list of limits, or an object with `limits` and the `timezone` of all budgets.',
  }),
)

/** Someone who is alerted. */
export const AlertRecipient = Type.Object({
  channel: Text('The name of a channel, or "last" for the one of the last message.'),
  accountId: OptionalText('The account of that channel. Default: the first.'),
  to: OptionalText('The recipient on that channel.'),
})

export type AlertRecipient = Static<typeof AlertRecipient>

export const AlertsSection = Type.Optional(
  Type.Object(AlertRecipient.properties, {
    additionalProperties: false,
    description:
      'The person whom the gateway alerts when 80 % and 100 % of a budget are used, once in each window. Default: ' +
      '`hooks.onFailure`.',
  }),
)
