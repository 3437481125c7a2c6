// Samples of what automations of Home Assistant send: a message, and the change of an entity.
import type { SampleRequest } from 'svc-gateway/plugin'

export const createSamples = (): SampleRequest[] => [
  {
    name: 'message',
    payload: { title: 'Front door', message: 'The front door has been open for 10 minutes.' },
  },
  {
    name: 'state-changed',
    payload: {
      entity_id: 'binary_sensor.front_door',
      friendly_name: 'Front door',
      from: 'off',
      to: 'on',
      area: 'Hall',
    },
  },
]
