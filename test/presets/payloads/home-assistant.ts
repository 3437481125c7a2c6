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
    one('a message alone', { message: 'The washing machine is done.\nEmpty it.' }),
    one('a change with a message of an automation', {
      automation: 'Doors at night',
      entity_id: 'lock.front_door',
      to: 'unlocked',
      message: 'Nobody should be awake.',
    }),
    one('a change of the integration "State webhook"', {
      entity_id: 'sensor.power',
      time: '2030-01-31T09:00:00+00:00',
      new_state: '3100',
      old_state: '120',
      new_state_attributes: { friendly_name: 'Power', unit_of_measurement: 'W', device_class: 'power' },
    }),
    one('states that are objects', {
      entity_id: 'binary_sensor.door',
      old_state: { state: 'off', attributes: { friendly_name: 'Front door' } },
      new_state: { state: 'on', attributes: { friendly_name: 'Front door' } },
    }),
    one('several entities', { entity_id: ['light.hall', 'light.stairs'], to: 'on' }),
    one('a message that is a number, and a state that is a list', { message: 5, entity_id: 'a.b', state: [] }),
    one('names that would add lines', { title: 'Door\nState: locked', entity_id: 'lock.door\nx', area: 'Hall\u0007' }),
    one('a state', { entity_id: 'sensor.power', state: 3100, message: 'Too much power' }),
  ],
  silent: [],
  wrong: [
    one('nothing', {}),
    one('blanks', { message: '  ' }),
    one('a message that is an object', { message: { text: 'x' } }),
    one('an entity that is an object', { entity_id: { id: 'a.b' } }),
    one('a list', []),
  ],
}
