// Payloads of Home Assistant, written by hand after its documentation.
import { one, type Samples } from '../sample.ts'

export const homeAssistant: Samples = {
  told: [
    one('a message', { message: 'The front door has been open for 10 minutes.', title: 'Front door' }),
    one('a change', {
      entity_id: 'binary_sensor.door',
      friendly_name: 'Front door',
      from: 'off',
      to: 'on',
      area: 'Hall',
    }),
    one('a state', { entity_id: 'sensor.power', state: 3100, message: 'Too much power' }),
  ],
  silent: [],
  wrong: [
    one('nothing', {}),
    one('blanks', { message: '  ' }),
    one('a message that is a number', { message: 5 }),
    one('a message that is an object', { message: { text: 'x' } }),
    one('a state that is a list', { entity_id: 'a.b', state: [] }),
    one('an entity that is a list', { entity_id: ['a.b'] }),
  ],
}
