// A step of a run in the form that the API returns: its schema, and how it is made of what is stored.
import { type ListedStep, stepStatuses } from '../store/store.ts'
import { Type } from '../typebox.ts'
import { content } from './content.ts'
import { iso, Time } from './lists.ts'
import { UsageOfStep, viewUsage } from './usage-view.ts'

/** The schema of a step. The fields of a step of each kind are flat; those of the other kind are absent. */
export const Step = Type.Object({
  number: Type.Integer({ description: 'From 1, in the order of the run.' }),
  attempt: Type.Integer({ description: 'The attempt that made it, from 1.' }),
  kind: Type.Enum(['model', 'tool']),
  status: Type.Enum([...stepStatuses], {
    description:
      '`waiting`: a person must approve the call. `refused`: the policy or a person did not allow it. `interrupted`: ' +
      'the gateway ended during the call, which may have taken effect.',
  }),
  startedAt: Time(),
  endedAt: Type.Optional(Time()),
  model: Type.Optional(Type.String({ description: '`<provider>/<model>`.' })),
  firstTokenMs: Type.Optional(
    Type.Integer({ description: 'Milliseconds from the start of the call to the first part of the answer.' }),
  ),
  finishReason: Type.Optional(Type.String()),
  responseModel: Type.Optional(Type.String({ description: 'The model that answered, as its service names it.' })),
  usage: Type.Optional(UsageOfStep),
  text: Type.Optional(Type.String({ description: 'What the model wrote.', ...content })),
  tool: Type.Optional(Type.String()),
  args: Type.Optional(
    Type.Unknown({
      description: 'The arguments of the call. Longer ones than 64 KiB are a text that is cut.',
      ...content,
    }),
  ),
  effects: Type.Optional(
    Type.Union([Type.Array(Type.Enum(['reads-private', 'sends'])), Type.Literal('by-call')], {
      description: 'What the tool does.',
    }),
  ),
  verdict: Type.Optional(
    Type.Enum(['allow', 'ask', 'deny'], {
      description: 'What the policy says of the call. `ask`: a person must approve it.',
    }),
  ),
  rule: Type.Optional(
    Type.String({ description: 'The rule that gave the verdict. Absent: no rule restricts the tool.' }),
  ),
  result: Type.Optional(
    Type.Unknown({
      description: 'What the model reads. A longer result than 64 KiB is a text that is cut.',
      ...content,
    }),
  ),
  resultLength: Type.Optional(
    Type.Integer({
      description: 'How long the result was before it was shortened, in characters of its text or JSON.',
    }),
  ),
  error: Type.Optional(
    Type.String({ description: 'What the model reads instead of a result, or why its call failed.', ...content }),
  ),
  thrown: Type.Optional(Type.String({ description: 'What the tool threw. The agent reads none of it.', ...content })),
})

export const viewStep = (step: ListedStep) => ({
  number: step.number,
  attempt: step.attempt,
  kind: step.kind,
  status: step.status,
  startedAt: iso(step.startedAt),
  ...(step.endedAt !== null && { endedAt: iso(step.endedAt) }),
  ...step.detail,
  ...('usage' in step.detail && step.detail.usage && { usage: viewUsage(step.detail.usage) }),
  ...step.content,
})
