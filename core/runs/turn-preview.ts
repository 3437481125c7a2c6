// Schemas of a dry run: the actions that a request would become, and the turns that would follow.
import { actionFields } from '../action.ts'
import { BudgetView } from '../budgets/view.ts'
import { overridesOf } from '../config/schema/overrides.ts'
import { type Static, Type } from '../typebox.ts'

const optionalText = (description: string) => Type.Optional(Type.String({ description }))

const DeliveryPreview = Type.Object(
  {
    channel: Type.String(),
    accountId: optionalText('Account of the channel.'),
    to: Type.String(),
    threadId: optionalText('Thread that receives the reply.'),
    reason: optionalText('Why the reply cannot be delivered.'),
  },
  { description: 'Where the reply would go at this moment. Absent: the reply is not delivered.' },
)

export const TurnPreview = Type.Object({
  prompt: Type.String({
    description: 'The whole user message of the turn. The ids in the external content markers differ each time.',
  }),
  model: Type.String({ description: '`<provider>/<model>`.' }),
  thinking: Type.Optional(actionFields.thinking),
  timeoutSeconds: actionFields.timeoutSeconds,
  tools: Type.Array(Type.String(), { description: 'Names of the tools that the tool policy allows.' }),
  withheld: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Tools that the rule of two would refuse at the start of the turn. Absent: the rule does not apply.',
    }),
  ),
  delivery: Type.Optional(DeliveryPreview),
  budgets: Type.Optional(
    Type.Array(BudgetView, { description: 'The budgets that the run would count against. Absent: there is none.' }),
  ),
})
export type TurnPreview = Static<typeof TurnPreview>

const fields = {
  ...actionFields,
  mode: actionFields.wakeMode,
  sessionKey: Type.String({ description: 'The whole session key. The id of a new session differs each time.' }),
  ...TurnPreview.properties,
}

/** A wake calls its `wakeMode` `mode`, as the body of `POST /hooks/wake` does. */
export type ActionPreview = Partial<Static<Type.TObject<typeof fields>>> & { action: 'wake' | 'agent' }
export const ActionPreview = Type.Unsafe<ActionPreview>({
  ...overridesOf(Type.Object(fields)),
  required: ['action'],
  description: 'An action as rendered, before its text is wrapped as external content, and the turn of its run.',
})
