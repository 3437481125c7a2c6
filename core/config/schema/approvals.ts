// The keys of `approvals`, and of `agents.<id>.approvals`: who is asked about a tool call, and for how long.
import { OptionalText, Texts } from '../../field-schemas.ts'
import { type Static, Type } from '../../typebox.ts'
import { Duration } from './formats.ts'

export const defaultTimeout = '1h'
const timeoutText = 'How long a call waits for its answer, such as "30m", "1h" or "2d". Then it is denied.'

export const Approvals = approvalsWith({
  channel: 'none; calls are approved with "svc-gateway approvals"',
  to: 'its defaultTo',
  accountId: 'the first one',
  approvers: 'nobody',
  timeout: Duration('waiting', `${timeoutText} Default: "${defaultTimeout}".`, { fallback: defaultTimeout }),
})

/** The key `approvals` of an agent. */
export const AgentApprovals = approvalsWith({
  channel: 'that of `approvals`',
  to: 'that of `approvals`, or the defaultTo of a channel of its own',
  accountId: 'that of `approvals`, or the first one of a channel of its own',
  approvers: 'those of `approvals`, or nobody on a channel of its own',
  timeout: Duration('waiting', `${timeoutText} Default: \`approvals.timeout\`.`),
})

interface Defaults extends Record<'channel' | 'to' | 'accountId' | 'approvers', string> {
  timeout: ReturnType<typeof Duration>
}

/** @param defaults what applies without a key, in words */
function approvalsWith(defaults: Defaults) {
  const { channel, to, accountId, approvers, timeout } = defaults
  return Type.Object(
    {
      channel: OptionalText(`The channel on which approvers are asked. Default: ${channel}.`),
      to: OptionalText(
        `The recipient of the questions on that channel: a person, or a group of approvers. Default: ${to}.`,
      ),
      accountId: OptionalText(`The account of that channel. Default: ${accountId}.`),
      threadId: OptionalText('The thread of the questions.'),
      approvers: Type.Optional(
        Texts(
          'The ids of those who may answer on that channel, as in its allowFrom. Names that people choose do not ' +
            `count. Default: ${approvers}.`,
        ),
      ),
      timeout: Type.Optional(timeout),
    },
    {
      additionalProperties: false,
      description:
        'Who is asked about the calls that the tool policy lists in "ask". An agent with a channel of its own here ' +
        'shares only the timeout.',
    },
  )
}

export type ApprovalsConfig = Static<typeof Approvals>
