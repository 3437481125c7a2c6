// A tool that schedules runs: by a cron expression, at an interval, or once.
import {
  defineTool,
  defineToolset,
  InputError,
  type ScheduleTiming,
  type ScheduleApi,
  type Static,
  Type,
} from 'svc-gateway/plugin'

const Text = (description: string) =>
  Type.Optional(Type.String({ pattern: String.raw`\S`, maxLength: 1000, description }))

const Args = Type.Object(
  {
    action: Type.Enum(['add', 'list', 'remove', 'run'], {
      description: '`run` starts a run of the schedule now; its times stay.',
    }),
    id: Text('For remove and run: the schedule.'),
    message: Type.Optional(
      Type.String({
        pattern: String.raw`\S`,
        maxLength: 100_000,
        description: 'For add: the task, complete in itself.',
      }),
    ),
    name: Text('For add: the name of the schedule.'),
    cron: Text('For add: minute, hour, day, month, weekday, such as `0 9 * * 1-5`.'),
    timezone: Text('For add with cron: its time zone, such as `Europe/Berlin`; default: that of the host.'),
    every: Text('For add: an interval such as `30m`; at least 10 s.'),
    at: Text(
      'For add: once, at a time with its zone such as `2030-01-31T09:00:00+01:00`, or after a delay such as `20m`.',
    ),
    deliver: Type.Optional(Type.Boolean({ description: 'For add: whether replies are delivered; default: true.' })),
    channel: Text('For add: the channel of replies; default: the last route of this session.'),
    to: Text('For add: the recipient on that channel.'),
    timeoutSeconds: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 86_400,
        description: 'For add: longest duration of one run, in seconds.',
      }),
    ),
  },
  { additionalProperties: false },
)
type Args = Static<typeof Args>

const cron = defineTool<Args>({
  name: 'cron',
  external: 'none',
  group: 'automation',
  description:
    'Schedules work for yourself: adds, lists, removes and runs schedules. Use it for reminders and regular tasks.',
  args: Args,
  effects: ['reads-private', 'sends'],
  async execute(args, { schedules }) {
    if (args.action === 'list') return { items: await schedules.list() }
    if (args.action === 'add') return await add(args, schedules)
    const id = args.id?.trim()
    if (!id) throw new InputError(`id is required for ${args.action}; list shows the schedules.`)
    const done = args.action === 'remove' ? await schedules.remove(id) : await schedules.run(id)
    if (!done) throw new InputError('There is no schedule with this id; list shows the schedules.')
    return done === true ? { removed: id } : done
  },
})

async function add(
  { message, name, deliver = true, channel, to, timeoutSeconds, ...args }: Args,
  schedules: ScheduleApi,
) {
  if (message === undefined) throw new InputError('message is required for add.')
  return await schedules.add({
    message,
    name,
    timing: timingOf(args),
    deliver: deliver ? { channel, to } : null,
    timeoutSeconds,
  })
}

function timingOf({ cron, timezone, every, at }: Pick<Args, 'cron' | 'timezone' | 'every' | 'at'>): ScheduleTiming {
  if ([cron, every, at].filter((one) => one !== undefined).length !== 1)
    throw new InputError('add requires exactly one of cron, every and at.')
  if (cron !== undefined) return { cron, timezone }
  if (timezone !== undefined) throw new InputError('timezone is allowed only with cron.')
  return every === undefined ? { at: at ?? '' } : { every }
}

export default defineToolset({ name: 'cron', description: 'Schedules.', tools: [cron] })
