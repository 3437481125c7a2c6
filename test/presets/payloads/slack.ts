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
    one(
      'a new channel',
      slackEvent({ type: 'channel_created', channel: { id: 'C2', name: 'fun', created: 1, creator: 'U1' } }),
    ),
    one(
      'a new name of a channel',
      slackEvent({ type: 'channel_rename', channel: { id: 'C2', name: 'more-fun', created: 1 } }),
    ),
    one('a private channel that ends', slackEvent({ type: 'group_archive', channel: 'G2', user: 'U1' })),
    one('a channel that was deleted', slackEvent({ type: 'channel_deleted', channel: 'C2' })),
    one(
      'a member who joins',
      slackEvent({ type: 'member_joined_channel', user: 'U1', channel: 'C1', channel_type: 'C', inviter: 'U2' }),
    ),
    one(
      'a file',
      slackEvent({ type: 'file_shared', channel_id: 'C1', file_id: 'F1', user_id: 'U1', file: { id: 'F1' } }),
    ),
    one('a file for everybody', slackEvent({ type: 'file_public', file_id: 'F1', user_id: 'U1', file: { id: 'F1' } })),
    one('a file that was deleted', slackEvent({ type: 'file_deleted', file_id: 'F1', channel_ids: ['C1', 'C2'] })),
    one(
      'a pin',
      slackEvent({
        type: 'pin_added',
        user: 'U1',
        channel_id: 'C1',
        item: {
          type: 'message',
          channel: 'C1',
          created_by: 'U1',
          message: { user: 'U2', text: 'The rules of <#C1|fun>', ts: '1.7', permalink: 'https://octo.slack.com/p17' },
        },
        item_user: 'U2',
        pin_count: '1',
      }),
    ),
    one(
      'a pin of a file that is taken back',
      slackEvent({
        type: 'pin_removed',
        user: 'U1',
        channel_id: 'C1',
        item: { type: 'file', channel: 'C1', file: { id: 'F1' } },
      }),
    ),
    one(
      'a user group',
      slackEvent({
        type: 'subteam_created',
        subteam: {
          id: 'S1',
          name: 'Night shift',
          handle: 'night',
          description: 'Those who are awake.',
          created_by: 'U1',
          user_count: 3,
          date_delete: 0,
        },
      }),
    ),
    one(
      'a user group that was disabled',
      slackEvent({
        type: 'subteam_updated',
        subteam: { id: 'S1', name: 'Night shift', handle: 'night', updated_by: 'U2', date_delete: 1_900_000_000 },
      }),
    ),
    one(
      'members of a user group',
      slackEvent({
        type: 'subteam_members_changed',
        subteam_id: 'S1',
        added_users: ['U1', 'U2'],
        removed_users: ['U3'],
      }),
    ),
    one('a user group of the app', slackEvent({ type: 'subteam_self_added', subteam_id: 'S1' })),
    one(
      'an emoji',
      slackEvent({ type: 'emoji_changed', subtype: 'add', name: 'party', value: 'https://emoji.example.com/1.png' }),
    ),
    one('emojis that are gone', slackEvent({ type: 'emoji_changed', subtype: 'remove', names: ['party', 'fest'] })),
    one(
      'a new name of an emoji',
      slackEvent({ type: 'emoji_changed', subtype: 'rename', old_name: 'party', new_name: 'fest' }),
    ),
    one('another email domain', slackEvent({ type: 'email_domain_changed', email_domain: 'example.com' })),
    one('another name of the workspace', slackEvent({ type: 'team_rename', name: 'Octo' })),
    one(
      'a function of a workflow',
      slackEvent({
        type: 'function_executed',
        function: { id: 'Fn1', callback_id: 'deploy', title: 'Deploy', description: 'Deploys a branch.', app_id: 'A1' },
        inputs: { branch: 'main', force: true, user: { id: 'U1' } },
        function_execution_id: 'Fx1',
        workflow_execution_id: 'Wx1',
        bot_access_token: 'xwfp-secret',
      }),
    ),
    one(
      'a step of a workflow',
      slackEvent({
        type: 'workflow_step_execute',
        callback_id: 'deploy',
        workflow_step: {
          workflow_step_execute_id: 'W1',
          workflow_id: 'Wf1',
          step_id: 'St1',
          inputs: { branch: { value: 'main' } },
        },
      }),
    ),
    one('a workflow', slackEvent({ type: 'workflow_published', workflow_id: 'Wf1' })),
    one(
      'links',
      slackEvent({
        type: 'link_shared',
        channel: 'C1',
        user: 'U1',
        message_ts: '1.8',
        thread_ts: '1.1',
        links: [{ domain: 'example.com', url: 'https://example.com/1' }],
      }),
    ),
    one(
      'a conversation with the assistant',
      slackEvent({
        type: 'assistant_thread_started',
        assistant_thread: { user_id: 'U1', context: { channel_id: 'C1' }, channel_id: 'D1', thread_ts: '1.9' },
      }),
    ),
    one(
      'a wish for an app',
      slackEvent({
        type: 'app_requested',
        app_request: { id: '1', app: { id: 'A2', name: 'Octo', app_directory_url: 'https://octo.slack.com/apps/A2' } },
        user: { id: 'U1', name: 'ada', email: 'ada@example.com' },
        message: 'It helps.',
      }),
    ),
    one(
      'a wish for a person',
      slackEvent({
        type: 'invite_requested',
        invite_request: {
          id: '1',
          email: 'grace@example.com',
          real_name: 'Grace Hopper',
          requester_ids: ['U1'],
          channel_ids: ['C1'],
          request_reason: 'She wrote it.',
        },
      }),
    ),
    one(
      'another workspace in a channel',
      slackEvent({
        type: 'shared_channel_invite_accepted',
        channel: { id: 'C2', name: 'fun' },
        accepting_user: { id: 'U4', name: 'grace' },
      }),
    ),
    one(
      'metadata',
      slackEvent({
        type: 'message_metadata_posted',
        app_id: 'A2',
        user_id: 'U5',
        channel_id: 'C1',
        message_ts: '1.2',
        metadata: { event_type: 'task_created', event_payload: { id: 'T7', title: 'Mend the basket' } },
      }),
    ),
    one('the end', slackEvent({ type: 'tokens_revoked', tokens: { bot: ['U9'] } })),
    one(
      'another event',
      slackEvent({ type: 'call_rejected', call_id: 'R1', user_id: 'U1', channel_id: 'D1', bot_token: 'xoxb-secret' }),
    ),
    one('fields of other types', slackEvent({ type: 'message', text: ['x'], files: 'x', user: 5, channel: 'C1' })),
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
    one(
      'a file of the app itself',
      slackEvent({ type: 'file_shared', channel_id: 'C1', file_id: 'F1', user_id: 'U9', file: { id: 'F1' } }),
    ),
    one('a channel of the app itself', slackEvent({ type: 'channel_created', channel: { id: 'C2', creator: 'U9' } })),
    one(
      'metadata of the app itself',
      slackEvent({ type: 'message_metadata_posted', app_id: 'A1', user_id: 'U5', channel_id: 'C1', message_ts: '1.2' }),
    ),
    one('a file before it is shared', slackEvent({ type: 'file_created', file_id: 'F1', user_id: 'U1' })),
    one('somebody who is busy', slackEvent({ type: 'dnd_updated_user', user: 'U1' })),
    one('a star', slackEvent({ type: 'star_added', user: 'U1', item: { type: 'message', channel: 'C1' } })),
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
    one('an event whose type is a list', slackEvent({ type: [[]] })),
    one('an event whose type is empty', slackEvent({ type: '' })),
  ],
}
