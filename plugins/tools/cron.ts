// A tool that has work begin by itself: at set times, again and again, or once.
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
      description: '`run` fires a schedule now, beside its times.',
    }),
    id: Text('For remove and run: the schedule.'),
    message: Type.Optional(
      Type.String({
        pattern: String.raw`\S`,
        maxLength: 100_000,
        description: 'For add: what is to be done then, with everything that it takes.',
      }),
    ),
    name: Text('For add: what to call it.'),
    cron: Text('For add: minute, hour, day, month, weekday, such as `0 9 * * 1-5`.'),
    timezone: Text('For add with cron: its time zone, such as `Europe/Berlin`; the one of the host if left out.'),
    every: Text('For add: again and again after a time such as `30m`; 10 s at least.'),
    at: Text(
      'For add: once, at a time with its zone such as `2030-01-31T09:00:00+01:00`, or after a time such as `20m`.',
    ),
    deliver: Type.Optional(
      Type.Boolean({ description: 'For add: whether replies are sent to somebody; true if left out.' }),
    ),
    channel: Text('For add: the channel of replies; where this session last heard from if left out.'),
    to: Text('For add: the recipient on that channel.'),
    timeoutSeconds: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 86_400, description: 'For add: longest time of one run.' }),
    ),
  },
  { additionalProperties: false },
)
type Args = Static<typeof Args>

const cron = defineTool<Args>({
  name: 'cron',
  group: 'automation',
  description:
    'Schedules work for yourself: adds, lists, removes and fires schedules. Use it for reminders and for what is to happen regularly.',
  args: Args,
  effects: ['reads-private', 'sends'],
  async execute(args, { schedules }) {
    if (args.action === 'list') return { items: await schedules.list() }
    if (args.action === 'add') return await add(args, schedules)
    const id = args.id?.trim()
    if (!id) throw new InputError(`id is required for ${args.action}; list names the schedules.`)
    const done = args.action === 'remove' ? await schedules.remove(id) : await schedules.run(id)
    if (!done) throw new InputError('There is no schedule with this id; list names those that there are.')
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
    throw new InputError('Exactly one of cron, every and at is required for add.')
  if (cron !== undefined) return { cron, timezone }
  if (timezone !== undefined) throw new InputError('timezone goes with cron alone.')
  return every === undefined ? { at: at ?? '' } : { every }
}

export default defineToolset({ name: 'cron', description: 'Work that begins by itself.', tools: [cron] })
