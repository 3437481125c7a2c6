// Samples of Discord's interactions: a command with an option, and a button.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id }: SampleSeed): SampleRequest[] => {
  const interaction = {
    version: 1,
    token: 'a-token-of-the-interaction',
    id,
    application_id: '775799577604522054',
    guild_id: '290926798626357999',
    channel_id: '645027906669510667',
    channel: { id: '645027906669510667', name: 'ops', type: 0 },
    member: { nick: null, roles: [], user: { id: '80351110224678912', username: 'ada', global_name: 'Ada' } },
  }
  const options = [{ name: 'service', type: 3, value: 'shop' }]
  return [
    { name: 'command', payload: { ...interaction, type: 2, data: { id: '1', name: 'deploy', type: 1, options } } },
    {
      name: 'button',
      payload: {
        ...interaction,
        type: 3,
        data: { custom_id: 'retry', component_type: 2 },
        message: { id: '77', content: 'The run failed.' },
      },
    },
  ]
}
