// The keys of `approvals`, and of `agents.<id>.approvals`: who is asked about a tool call, and for how long.
import { Duration, OptionalText, Texts } from '../../field-schemas.ts'
import { type Static, Type } from '../../typebox.ts'

export const Approvals = Type.Object(
  {
    channel: OptionalText(
      'The channel on which approvers are asked. Default: none; calls are approved with "svc-gateway approvals".',
    ),
    to: OptionalText(
      'The recipient of the questions on that channel: a person, or a group of approvers. Default: its defaultTo.',
    ),
    accountId: OptionalText('The account of that channel. Default: the first one.'),
    threadId: OptionalText('The thread of the questions.'),
    approvers: Type.Optional(
      Texts(
        'The ids of those who may answer on that channel, as in its allowFrom. Names that people choose do not count. ' +
          'Default: nobody.',
      ),
    ),
    timeout: Type.Optional(
      Duration('How long a call waits for its answer, such as "30m", "1h" or "2d". Then it is denied. Default: "1h".'),
    ),
  },
  {
    additionalProperties: false,
    description:
      'Who is asked about the calls that the tool policy lists in "ask". An agent with a channel of its own here shares ' +
      'only the timeout.',
  },
)

export type ApprovalsConfig = Static<typeof Approvals>
