// Payloads of Slack, written by hand after its documentation.
import { one, type Samples } from '../sample.ts'

const slackEvent = (event: object) => ({
  token: 'z',
  team_id: 'T1',
  api_app_id: 'A1',
  type: 'event_callback',
  event_id: 'Ev1',
  event_time: 1_900_000_000,
  authorizations: [{ team_id: 'T1', user_id: 'U9', is_bot: true }],
  event,
})

export const slack: Samples = {
  told: [
    one(
      'a mention',
      slackEvent({
        type: 'app_mention',
        user: 'U1',
        text: '<@U9> what is broken?',
        ts: '1.1',
        channel: 'C1',
        event_ts: '1.1',
      }),
    ),
    one(
      'the same mention as a message',
      slackEvent({
        type: 'message',
        user: 'U1',
        user_profile: { name: 'ada', real_name: 'Ada Lovelace', display_name: '' },
        text: '<@U9> what is broken?',
        ts: '1.1',
        channel: 'C1',
        channel_type: 'channel',
        event_ts: '1.1',
      }),
    ),
    one(
      'a message with references',
      slackEvent({
        type: 'message',
        user: 'U1',
        text:
          '<!here> ask <@U2|grace> in <#C2|fun>: ' +
          '<https://example.com/a?b=1&amp;c=2|the page> &lt;3 <https://example.com>',
        ts: '1.6',
        channel: 'C1',
        channel_type: 'channel',
      }),
    ),
    one(
      'a reaction that is taken back',
      slackEvent({
        type: 'reaction_removed',
        user: 'U1',
        reaction: 'eyes',
        item: { type: 'message', channel: 'C1', ts: '1.1' },
      }),
    ),
    one(
      'a new member',
      slackEvent({ type: 'team_join', user: { id: 'U3', name: 'grace', real_name: 'Grace Hopper' } }),
    ),
    one(
      'a message in a thread',
      slackEvent({
        type: 'message',
        user: 'U1',
        text: 'still broken',
        ts: '1.3',
        thread_ts: '1.1',
        channel: 'C1',
        channel_type: 'channel',
      }),
    ),
    one(
      'a direct message with a file',
      slackEvent({
        type: 'message',
        subtype: 'file_share',
        user: 'U1',
        text: 'see',
        ts: '1.4',
        channel: 'D1',
        channel_type: 'im',
        files: [{ name: 'log.txt' }],
      }),
    ),
    one(
      'a reaction',
      slackEvent({
        type: 'reaction_added',
        user: 'U1',
        reaction: 'eyes',
        item: { type: 'message', channel: 'C1', ts: '1.1' },
        item_user: 'U2',
      }),
    ),
    one('a new channel', slackEvent({ type: 'channel_created', channel: { id: 'C2', name: 'fun', created: 1 } })),
    one('too much', {
      token: 'z',
      team_id: 'T1',
      type: 'app_rate_limited',
      minute_rate_limited: 1_900_000_000,
      api_app_id: 'A1',
    }),
  ],
  silent: [
    one(
      'a mention by a bot',
      slackEvent({ type: 'app_mention', bot_id: 'B1', text: '<@U9> beep', ts: '1.5', channel: 'C1' }),
    ),
    one(
      'a reaction of the app itself',
      slackEvent({ type: 'reaction_added', user: 'U9', reaction: 'eyes', item: { channel: 'C1', ts: '1.1' } }),
    ),
    one('a bot', slackEvent({ type: 'message', bot_id: 'B1', text: 'beep', ts: '1.5', channel: 'C1' })),
    one(
      'a bot that says who it is',
      slackEvent({ type: 'message', user: 'U9', bot_profile: { id: 'B1' }, text: 'beep', ts: '1.5', channel: 'C1' }),
    ),
    one('an edit', slackEvent({ type: 'message', subtype: 'message_changed', channel: 'C1', message: {} })),
    one('somebody joins', slackEvent({ type: 'message', subtype: 'channel_join', user: 'U1', channel: 'C1' })),
    one('a handshake that nobody answered', { type: 'url_verification', challenge: 'c' }),
  ],
  wrong: [
    one('nothing', {}),
    one('another type', { type: 'block_actions' }),
    one('an event that is a text', { type: 'event_callback', event: 'message' }),
    one('an event without a type', { type: 'event_callback', event: { text: 'x' } }),
    one('a text that is a list', slackEvent({ type: 'message', text: ['x'] })),
    one('files that are none', slackEvent({ type: 'message', files: 'x' })),
  ],
}
