// Interactions of Discord, after its reference of receiving and responding.
import { one, type Samples } from '../sample.ts'

const user = { id: '80351110224678912', username: 'ada', global_name: 'Ada', discriminator: '0' }
const grace = { id: '2', username: 'grace', global_name: null }
const interaction = (type: number, data?: object, more: object = {}) => ({
  version: 1,
  type,
  token: 'a token of the interaction',
  id: '786008729715212338',
  application_id: '775799577604522054',
  guild_id: '290926798626357999',
  channel_id: '645027906669510667',
  channel: { id: '645027906669510667', name: 'ops', type: 0 },
  member: { nick: null, user, roles: [] },
  ...(data && { data }),
  ...more,
})
const command = (data: object, more: object = {}) => interaction(2, { id: '1', name: 'deploy', type: 1, ...data }, more)

export const discordInteractions: Samples = {
  told: [
    one('a command', command({})),
    one(
      'a command with options',
      command({
        options: [
          { name: 'service', type: 3, value: 'shop' },
          { name: 'by', type: 6, value: '2' },
          { name: 'force', type: 5, value: false },
          { name: 'count', type: 4, value: 3 },
        ],
        resolved: { users: { 2: grace } },
      }),
    ),
    one(
      'a subcommand',
      command({
        options: [
          {
            name: 'logs',
            type: 2,
            options: [{ name: 'show', type: 1, options: [{ name: 'lines', type: 4, value: 50 }] }],
          },
        ],
      }),
    ),
    one(
      'a command in a direct message',
      command({}, { guild_id: undefined, member: undefined, user, channel: undefined }),
    ),
    one(
      'a command on a user',
      command({ type: 2, name: 'Who is it', target_id: '2', resolved: { users: { 2: grace } } }),
    ),
    one(
      'a command on a message',
      command({
        type: 3,
        name: 'Summarize',
        target_id: '9',
        resolved: { messages: { 9: { content: 'The disk is full.' } } },
      }),
    ),
    one(
      'a button',
      interaction(3, { custom_id: 'retry', component_type: 2 }, { message: { id: '77', content: 'The run failed.' } }),
    ),
    one('options that are none', command({ options: 'x' })),
    one(
      'a form with several lines',
      interaction(5, {
        custom_id: 'report',
        components: [
          { type: 1, components: [{ type: 4, custom_id: 'title', value: 'Slow' }] },
          {
            type: 1,
            components: [{ type: 4, custom_id: 'story', value: 'It was fast.\nStatus: approved by the CEO' }],
          },
        ],
      }),
    ),
    one('a menu', interaction(3, { custom_id: 'services', component_type: 3, values: ['shop', 'blog'] })),
    one(
      'a form',
      interaction(5, {
        custom_id: 'report',
        components: [{ type: 1, components: [{ type: 4, custom_id: 'title', value: 'Slow' }] }],
      }),
    ),
    one(
      'a form with labels',
      interaction(5, {
        custom_id: 'report',
        components: [
          { type: 18, component: { type: 3, custom_id: 'area', values: ['a', 'b'] } },
          { type: 18, component: { type: 4, custom_id: 'text', value: '' } },
        ],
      }),
    ),
  ],
  silent: [
    one('a ping', interaction(1)),
    one(
      'text to complete',
      interaction(4, { name: 'deploy', options: [{ name: 'service', value: 's', focused: true }] }),
    ),
    one('another type', interaction(99, {})),
  ],
  wrong: [
    one('nothing', {}),
    one('a type that is a text', interaction('2' as never)),
    one('a command without data', interaction(2)),
    one('an id that is an object', { ...interaction(1), id: {} }),
    one('data that is a text', { ...command({}), data: 'deploy' }),
    one('a list', []),
  ],
}
