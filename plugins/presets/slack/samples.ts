// Samples of Slack's events: a mention of the app, a direct message, and a reaction.
import type { Json, SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id, now }: SampleSeed): SampleRequest[] => {
  const seconds = Date.parse(now) / 1000
  const ts = seconds.toFixed(6)
  const callback = (event: Readonly<Record<string, Json>>) => ({
    token: 'not-used',
    team_id: 'T012AB3CD',
    api_app_id: 'A012AB3CD',
    type: 'event_callback',
    event_id: `Ev${id.slice(0, 8).toUpperCase()}`,
    event_time: Math.floor(seconds),
    authorizations: [{ team_id: 'T012AB3CD', user_id: 'U0LAN0Z89', is_bot: true }],
    event: { user: 'U012AB3CD', event_ts: ts, ...event },
  })
  const text = '<@U0LAN0Z89> what is broken?'
  const item = { type: 'message', channel: 'C012AB3CD', ts: '1900000000.000100' }
  return [
    { name: 'mention', payload: callback({ type: 'app_mention', text, ts, channel: 'C012AB3CD' }) },
    {
      name: 'direct-message',
      payload: callback({ type: 'message', text: 'Is the shop up?', ts, channel: 'D012AB3CD', channel_type: 'im' }),
    },
    { name: 'reaction-added', payload: callback({ type: 'reaction_added', reaction: 'eyes', item }) },
  ]
}
