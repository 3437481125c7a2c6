// The messages to approvers: the question, and what became of it. Whatever an agent or a stranger could have written is
// in a block of code, in which nothing ends the block, breaks a line or is hidden.
import type { Answerer, NewApproval, StoredApproval } from '../store/store.ts'
import { showArgs, showText } from '../kit/show-json.ts'

/** The most characters of arguments that are shown in a chat. Longer ones are read with the command line. */
export const maxShownLength = 6_000

export interface Question {
  approval: Pick<NewApproval, 'id' | 'agentId' | 'origin' | 'tool' | 'rule' | 'args' | 'isNarrowed'>
  /** Undefined: the call cannot be approved in this chat, for the reason `closed`. */
  code: string | undefined
  closed?: string | undefined
  timeoutMs: number
}

/** Why a call cannot be approved in a chat. */
export const closedReasons = {
  long: (length: number) => `Its arguments have ${length} characters, which are too many to show here`,
  secret: 'Its arguments hold a secret of the configuration, which is not shown here',
  narrow: 'Messages of this channel are too short to show its arguments',
  approvers: 'No approvers are configured for this channel',
} as const

/** Markdown. The lines of the arguments are numbered, so that a wrapped line looks like none of them. */
export function renderQuestion({ approval, code, closed, timeoutMs }: Question): string {
  const { agentId, origin, tool, rule, args, id, isNarrowed } = approval
  const lines = code === undefined ? [] : showArgs(args).map((line, index) => `${index + 1}| ${line}`)
  const block = [
    `agent: ${showText(agentId)}`,
    `origin: ${showText(origin)}`,
    `asked by: ${showText(rule, 300)}`,
    `tool: ${showText(tool)}`,
    `arguments: ${args.length} characters of JSON${lines.length > 0 ? ` in ${countOf(lines.length, 'line')}` : ''}`,
    ...lines,
  ]
  const answers =
    code === undefined
      ? `${closed}, so it cannot be approved here. Read and answer it with \`svc-gateway approvals show ${id}\`.`
      : `Answer \`approve ${code}\` or \`deny ${code}\` with a reason.${isNarrowed ? turnHint(code) : ''}`
  return [
    'An agent asks to make this call:',
    `\`\`\`\n${block.join('\n')}\n\`\`\``,
    `${answers} After ${formatDuration(timeoutMs)} it is denied.`,
  ].join('\n\n')
}

const turnHint = (code: string): string =>
  ` \`approve ${code} turn\` also allows further such calls until the agent has answered.`

type Call = Pick<StoredApproval, 'agentId' | 'tool'>

const nameCall = ({ agentId, tool }: Call): string => `\`${showText(tool)}\` of the agent \`${showText(agentId)}\``

/** What became of a question, for the approver who was asked. */
export function renderAnswered(approval: Call, status: 'approved' | 'denied', by: Answerer): string {
  return `The call of ${nameCall(approval)} was ${status} by ${byWhom(by)}.`
}

const byWhom = ({ role, via }: Answerer): string => (role === 'approver' ? `an approver on ${via}` : `an ${role}`)

export const renderExpired = (approval: Call): string =>
  `The call of ${nameCall(approval)} was denied: nobody answered in time.`

export const renderCancelled = (approval: Call & Pick<StoredApproval, 'runId'>): string =>
  approval.runId === ''
    ? `The call of ${nameCall(approval)} is not made: the client that asked does not wait any more.`
    : `The call of ${nameCall(approval)} is not made: its run has ended.`

/** How an approved call ended. Its result is not repeated: it may be long, and private. */
export function renderOutcome(approval: Call, status: string): string {
  if (status === 'succeeded') return `The approved call of ${nameCall(approval)} has succeeded.`
  if (status === 'interrupted')
    return `The gateway was interrupted during the approved call of ${nameCall(approval)}; it may have taken effect.`
  return `The approved call of ${nameCall(approval)} has failed.`
}

/** What the model reads instead of a result: by whom, as a role, and the reason. */
export function renderDenial({ status, answeredBy, reason }: Pick<StoredApproval, 'status' | 'answeredBy' | 'reason'>) {
  if (status !== 'denied') return 'Nobody approved this call in time, so it was denied.'
  const denied = `The ${answeredBy?.role ?? 'approver'} denied this call`
  return reason === null ? `${denied}.` : `${denied}: ${reason}`
}

const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

function formatDuration(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes < 1) return countOf(Math.max(1, Math.round(ms / 1000)), 'second')
  if (minutes % (24 * 60) === 0) return countOf(minutes / (24 * 60), 'day')
  return minutes % 60 === 0 ? countOf(minutes / 60, 'hour') : countOf(minutes, 'minute')
}
